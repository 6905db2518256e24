/** A manifest: the immutable description of one round of a study, which a device reads, checks and may refuse. */
import type { Code } from "./channel/channel";
import { hex, join } from "./core/bytes";
import { budget, decimalText } from "./core/decimal";
import { need, refuse } from "./core/errors";
import { Fraction, metered } from "./core/fraction";
import { canonicalBytes, integer, isSpec, kindOf, list, parse, take, text, texts, type Plain, type Spec } from "./core/json";
import { sha256 } from "./core/sha256";
import { Categories, Circle, domainFrom, Integers, Interval, Pair, rootOf, type Domain } from "./domain/domain";
import { Mechanism, QUESTIONS } from "./mechanism";

const ANSWERED = "answered";
const MOST_WHOLE = 1000n;
const DAY = 86_400_000;
const EPOCHS_BEGIN = Date.UTC(2020, 0, 1);
const DATE = /^\d{4}-\d{2}-\d{2}$/;

/** How reports reach the collector. */
export interface Collection {
  epochDays: number;
  invitations: boolean;
  sealedFor: string | null;
}

export interface Facts {
  name: string;
  owner: string;
  contact: string;
  purpose: string;
  analysts: string;
  start: string | null;
  end: string | null;
  unit: string;
  epsilon: Fraction;
  lifetime: Fraction;
  languages: string[];
  collection: Collection;
}

type Labels = { [language: string]: { [answer: string]: string } };

/** A question of a study: named, with its texts, and with reasons for giving no answer, which are answers too. */
export class Question {
  constructor(
    readonly name: string,
    readonly kind: string,
    /** What a participant answers, without the reasons. */
    readonly domain: Domain,
    /** By language. */
    readonly texts: { [language: string]: string },
    /** Reasons for giving no answer, such as "don't know". */
    readonly missing: string[],
    readonly share: number,
    /** Of a number, such as "hours". */
    readonly unit: string,
    readonly labels: Labels = {},
  ) {
    need(/^[a-z][a-z0-9_-]{0,39}$/.test(name), "The name of a question has small letters, digits and hyphens.");
    need(new Set(missing).size === missing.length && missing.every((one) => one.trim()), "The reasons must differ.");
    need(share >= 1 && share <= 1000, "The share of a question is from 1 to 1000.");
    for (const [language, one] of Object.entries(texts))
      need(
        /^[a-z]{2,3}(-[A-Za-z0-9]{2,8})?$/.test(language) && typeof one === "string" && !!one.trim() && one.length <= 4000,
        "The texts of a question are named by languages.",
      );
    if (missing.length) need(["frequency", "mean", "group-mean"].includes(kind) && this.reasonsFit(), "This question cannot have reasons.");
  }

  private reasonsFit(): boolean {
    const listed = this.kind === "group-mean" ? (this.domain as Pair).group : this.domain;
    if (this.kind === "mean") return true;
    return listed instanceof Categories || (listed instanceof Integers && listed.size <= MOST_WHOLE);
  }

  /** The text in a language, else in the first one; without any, the name. */
  text(language: string): string {
    return this.texts[language] ?? Object.values(this.texts)[0] ?? this.name;
  }

  /** What a participant reads for an answer or a reason. */
  label(answer: string, language: string): string {
    return this.labels[language]?.[answer] ?? answer;
  }

  /** The answers of a list, as a page shows them; null where an answer is a number or a text. */
  get choices(): string[] | null {
    const root = rootOf(this.domain);
    return root instanceof Categories ? root.values.map(String) : null;
  }

  /** The range of a number, as texts; null where an answer is none. */
  get range(): [string, string] | null {
    const root = rootOf(this.domain);
    if (root instanceof Integers) return [String(root.low), String(root.high)];
    return root instanceof Interval || root instanceof Circle ? [decimalText(root.low), decimalText(root.high)] : null;
  }

  get whole(): boolean {
    return rootOf(this.domain) instanceof Integers;
  }

  /** What a person typed into a form, as an answer. */
  read(written: string): unknown {
    return this.missing.includes(written) ? written : this.domain.typed(written);
  }

  /** What the domain of the whole question takes for an answer or a reason. */
  answer(value: unknown): unknown {
    if (!this.missing.length) return value;
    const reason = typeof value === "string" && this.missing.includes(value);
    if (this.kind === "frequency") {
      if (reason) return value;
      const code = this.domain.encode(value) as bigint; // refused before it becomes a text
      return this.domain.label(code);
    }
    if (this.kind === "mean") return reason ? [value, lowest(this.domain)] : [ANSWERED, value];
    return reason ? [value, lowest((this.domain as Pair).value)] : value;
  }
}

/** Any number of a domain: it does not count. */
function lowest(domain: Domain): unknown {
  return domain instanceof Integers || domain instanceof Interval ? domain.low : (domain.numbers?.low ?? 0);
}

export interface Arm {
  name: string;
  weight: bigint;
  mechanism: Mechanism;
}

export class Manifest {
  readonly prefix: Uint8Array;
  private readonly digest: Uint8Array;

  private constructor(
    readonly spec: Spec,
    /** The canonical text, which travels. */
    readonly content: Uint8Array,
    readonly facts: Facts,
    readonly questions: Question[],
    readonly arms: Arm[],
    readonly round: number,
    readonly parent: string | null,
    readonly root: string | null,
    readonly chosen: boolean,
  ) {
    this.digest = sha256(content);
    this.prefix = this.digest.slice(0, 8);
    need((parent === null) === (root === null) && (parent === null) === (round === 1), "A later round names its parent and its root.");
    need(arms.length > 0 && new Set(arms.map((arm) => arm.name)).size === arms.length, "The arms of a round have different names.");
    for (const arm of arms) {
      need(questions.some((one) => one.name === questionOf(arm.name)), "An arm of a manifest belongs to none of its questions.");
      if (arm.mechanism.claimed.compare(facts.epsilon) > 0)
        refuse("An arm claims a larger epsilon than the study states.", "privacy");
    }
  }

  /** SHA-256 of the content: the manifest's name. */
  get hash(): string {
    return hex(this.digest);
  }
  /** A digest of what the study says about itself; a later round says the same. */
  get said(): string {
    return hex(sha256(canonicalBytes(this.spec.study as Spec)));
  }
  /** The hash of the study's first manifest, which names the study in every round. */
  get study(): string {
    return this.root ?? this.hash;
  }
  /** The study's name in addresses. */
  get id(): string {
    return this.study.slice(0, 16);
  }

  /** Read a manifest. Every mechanism is computed anew, and one that exceeds its claim is refused. */
  static fromSpec(source: unknown): Manifest {
    const { spec, bytes } = parse(source);
    return metered(bytes, () => Manifest.read(spec));
  }

  private static read(spec: Spec): Manifest {
    const [version, study, asked, round, quota, parent, root, chosen, arms] = take(
      spec,
      "a manifest",
      ...["version", "study", "questions", "round", "quota", "parent", "root", "chosen", "arms"],
    );
    need(version === 1n, "This manifest has another version than 1: update the client.");
    if (quota !== null) integer(quota, "a manifest", "quota", 1n, 1n << 53n);
    need(typeof chosen === "boolean", "Whether arms are chosen is true or false.");
    const hash = (value: Plain | undefined, name: string): string | null =>
      value === null ? null : text(value, "a manifest", name);
    return new Manifest(
      spec,
      canonicalBytes(spec),
      readFacts(study),
      list(asked, "a manifest", "questions").map(readQuestion),
      list(arms, "a manifest", "arms").map(readArm),
      Number(integer(round, "a manifest", "round", 1n, (1n << 32n) - 1n)),
      hash(parent, "parent"),
      hash(root, "root"),
      chosen as boolean,
    );
  }

  /** Refuse it if a channel loses more than the study states, or more than this device allows. */
  check(limit: Fraction | null, lifetimeLimit: Fraction | null, accept: readonly string[] = []): void {
    for (const { mechanism } of this.arms) {
      if (mechanism.guarantee.kind !== "pure" && !accept.includes(mechanism.guarantee.kind))
        refuse("This device accepts pure guarantees only; this study has another one.", "privacy");
      if (!mechanism.within(this.facts.epsilon))
        refuse("A mechanism of this study loses more than the epsilon that the study states.", "privacy");
      if (limit && !mechanism.within(limit))
        refuse("A mechanism of this study loses more than this device allows for one report.", "privacy");
    }
    if (lifetimeLimit && this.facts.lifetime.compare(lifetimeLimit) > 0)
      refuse("The lifetime budget of this study is more than this device allows.", "privacy");
  }

  /** The arm of a report, which nobody chooses: from SHA-256 of the manifest's hash, the id and a counter. */
  armOf(id: Uint8Array): number {
    need(id.length === 16, "A report id has 16 bytes.", "report");
    const weight = this.arms.reduce((found, arm) => found + arm.weight, 0n);
    const limit = (1n << 53n) - ((1n << 53n) % weight);
    for (let counter = 0; ; counter++) {
      const count = new Uint8Array(4);
      new DataView(count.buffer).setUint32(0, counter);
      const digest = sha256(join(this.digest, id, count));
      let ticket = new DataView(digest.buffer).getBigUint64(0) >> 11n;
      if (ticket >= limit) continue;
      ticket %= weight;
      return this.arms.findIndex((arm) => (ticket -= arm.weight) < 0n);
    }
  }

  /** The question of an arm. */
  asked(arm: number): Question {
    const name = questionOf(this.arms[arm]!.name);
    return this.questions.find((one) => one.name === name)!;
  }

  /** The code of an answer to the question of an arm. */
  encode(arm: number, value: unknown): Code {
    return this.arms[arm]!.mechanism.domain.encode(this.asked(arm).answer(value));
  }

  /** The number of the epoch of a moment. */
  epoch(now: number): number {
    return Math.floor((now - EPOCHS_BEGIN) / DAY / this.facts.collection.epochDays);
  }
}

/** The question that an arm belongs to. */
export function questionOf(arm: string): string {
  return arm.split(":")[0]!;
}

function readCollection(spec: unknown): Collection {
  const [days, invitations, key, batch] = take(spec, "the collection", "epoch_days", "invitations", "sealed_for", "batch");
  const epochDays = Number(integer(days, "the collection", "epoch_days", 1n, 366n));
  need(typeof invitations === "boolean", "Whether a study needs invitations is true or false.");
  need((key === null) === (batch === null), "A shuffled study names the collector's key and the shuffler's batch.");
  if (key !== null) {
    need(typeof key === "string" && /^[0-9a-f]{64}$/.test(key), "The collector's key has 32 bytes.");
    integer(batch, "the collection", "batch", 2n, 1n << 40n);
  }
  return { epochDays, invitations: invitations as boolean, sealedFor: key as string | null };
}

function isDate(value: string): boolean {
  return DATE.test(value) && new Date(`${value}T00:00:00Z`).toJSON()?.slice(0, 10) === value && Number(value.slice(0, 4)) > 0;
}

function readFacts(spec: unknown): Facts {
  const names = ["name", "owner", "contact", "purpose", "analysts", "unit"];
  const others = ["start", "end", "epsilon", "lifetime", "languages", "collection"];
  const all = take(spec, "a study", ...names, ...others);
  const [name, owner, contact, purpose, analysts, unit] = names.map((key, place) => text(all[place], "a study", key));
  const [start, end, epsilon, lifetime, languages, collection] = all.slice(names.length);
  need(["person", "device", "event"].includes(unit!), "A manifest without a unit of privacy is not valid.");
  need(!!contact && !!owner && !!purpose, "A manifest without an owner, a contact and a purpose is not valid.");
  for (const day of [start, end])
    need(day === null || day === "" || (typeof day === "string" && isDate(day)), "The dates of a manifest are like 2027-03-31.");
  const spoken = texts(languages, "a study", "languages");
  need(spoken.length > 0, "The languages of a study are a list of texts.");
  const [one, whole] = [budget(epsilon, "a study"), budget(lifetime, "a study")];
  need(whole.compare(one) >= 0, "The lifetime budget of a manifest is at least that of one participation.");
  return {
    ...{ name: name!, owner: owner!, contact: contact!, purpose: purpose!, analysts: analysts!, unit: unit! },
    ...{ start: start as string | null, end: end as string | null, epsilon: one, lifetime: whole },
    ...{ languages: spoken, collection: readCollection(collection) },
  };
}

function readQuestion(spec: unknown): Question {
  const optional = isSpec(spec) && "labels" in spec ? ["labels"] : [];
  const [name, asked, written, missing, share, unit, labels] = take(
    spec, "a question", "name", "question", "texts", "missing", "share", "unit", ...optional,
  );
  const [fields, rest] = kindOf(asked, "kind", QUESTIONS, "A question of a manifest");
  take(rest, "a question", "domain", ...fields);
  need(isSpec(written), "The text of a question is a table of texts by language.");
  return new Question(
    text(name, "a question", "name"),
    (asked as Spec).kind as string,
    domainFrom(rest.domain),
    { ...(written as { [language: string]: string }) },
    texts(missing, "a question", "missing"),
    Number(integer(share, "a question", "share", 1n, 1000n)),
    text(unit, "a question", "unit"),
    readLabels(labels),
  );
}

/** What participants read instead of an answer, by language. */
function readLabels(spec: unknown): Labels {
  if (spec === undefined) return {};
  const tables = isSpec(spec) ? Object.values(spec) : [];
  const fine = tables.every((one) => isSpec(one) && Object.values(one).every((label) => typeof label === "string"));
  need(tables.length > 0 && fine, "The labels of a question are tables of texts by language.");
  return spec as unknown as Labels;
}

function readArm(spec: unknown): Arm {
  const [name, weight, mechanism] = take(spec, "an arm", "name", "weight", "mechanism");
  return {
    name: text(name, "an arm", "name"),
    weight: integer(weight, "an arm", "weight", 1n, 1n << 20n),
    mechanism: Mechanism.read(mechanism),
  };
}


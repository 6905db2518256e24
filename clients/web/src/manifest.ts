/** A manifest: the immutable description of one round of a study, which a device reads, checks and may refuse. */
import type { Code } from "./channel/channel";
import { hex, join, unhex } from "./core/bytes";
import { budget, decimalText } from "./core/decimal";
import { need, refuse } from "./core/errors";
import { Fraction, metered } from "./core/fraction";
import { canonicalBytes, isSpec, parse, type Spec } from "./core/json";
import { count, flag, integer, listOf, maybe, record, text, valid, type Readers } from "./core/read";
import { sha256 } from "./core/sha256";
import { Categories, domainFrom, Integers, Pair, Range, rootOf, type Domain } from "./domain/domain";
import { Mechanism, unread } from "./mechanism";

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
  /** Whether all questions are asked, though only the answer to one is sent. */
  askAll: boolean;
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
  /** What participants read instead of the name; a study may have none. */
  title?: string;
  /** The title and the purpose in further languages. */
  translations?: Labels;
  /** The arms of an experiment, where the study has one. */
  experiment?: ExperimentArm[];
  /** In how many rounds of the study a device answers, once each; their losses add up. */
  rounds?: number;
  repeat?: Repeat;
}

/** A study of several waves: a person answers once in any `window` waves in a row. */
export interface Repeat {
  /** The days of one wave. */
  days: number;
  waves: number;
  window: number;
}

/** One arm of an experiment: participants in it read its text above the questions. */
export interface ExperimentArm {
  name: string;
  share: number;
  /** By language; empty where participants of this arm read nothing more. */
  texts: { [language: string]: string };
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
    /** The name of another question that is about the same answer; empty if there is none. */
    readonly attribute = "",
    /** The unit in further languages. */
    readonly units: { [language: string]: string } = {},
  ) {
    valid(/^[a-z][a-z0-9_-]{0,39}$/.test(name), "name");
    valid(new Set(missing).size === missing.length && missing.every((one) => one.trim()), "missing");
    for (const [language, one] of Object.entries(texts))
      valid(/^[a-z]{2,3}(-[A-Za-z0-9]{2,8})?$/.test(language) && text(one).trim() && one.length <= 4000, "texts");
    valid(!missing.length || this.reasonsFit(), "missing");
  }

  private reasonsFit(): boolean {
    const { domain } = this;
    if (domain.ticks) return false;
    const listed = domain instanceof Pair ? domain.group : this.kind === "frequency" && domain;
    return !listed || listed instanceof Categories || (listed instanceof Integers && listed.size! <= MOST_WHOLE);
  }

  /** The name under which its answer is given: once for all questions about one attribute. */
  get key(): string {
    return this.attribute || this.name;
  }

  /** The text in a language, else in the first one; without any, the name. */
  text(language: string): string {
    return this.texts[language] ?? Object.values(this.texts)[0] ?? this.name;
  }

  /** What a participant reads for an answer or a reason. */
  label(answer: string, language: string): string {
    return this.labels[language]?.[answer] ?? answer;
  }

  /** The answers of a list, or the items of a set, as a page shows them; null where an answer is a number or a text. */
  get choices(): string[] | null {
    const root = rootOf(this.domain);
    const { keys = root, listed = keys, ranked = listed } = root as { keys?: Domain; listed?: Domain; ranked?: Domain };
    return ranked instanceof Categories ? ranked.values.map(String) : null;
  }

  /** The range of a number, as texts; null where an answer is none. */
  get range(): [string, string] | null {
    const root = rootOf(this.domain);
    return root instanceof Range ? [decimalText(root.bottom), decimalText(root.top)] : null;
  }

  /**
   * What a person typed into a form, as an answer; with the group that the person chose, where there are groups. Of a
   * table it is the answer to one attribute.
   */
  read(written: string, group?: string, attribute?: string): unknown {
    return this.missing.includes(written) ? written : this.domain.field(attribute).typed(written, group);
  }

  /** What the domain of the whole question takes for an answer or a reason. */
  answer(value: unknown): unknown {
    const { domain, missing } = this;
    if (!missing.length) return value;
    // A value is refused before it becomes a text.
    const label = (one: Domain, held: any): string => (missing.includes(held) ? held : one.label(one.encode(held) as bigint));
    if (this.kind === "frequency") return label(domain, value);
    if (domain.fields) return Object.fromEntries(Object.entries(Object(value)).map(([name, held]) => [name, label(domain.field(name), held)]));
    // Who gives a reason is in a group of that name; the rest of such an answer does not count.
    const inside = domain instanceof Pair ? domain.value : domain;
    const { values, bottom } = inside as Partial<Categories & Range>;
    return missing.includes(value as string) ? [value, values?.[0] ?? bottom] : inside === domain ? [ANSWERED, value] : value;
  }
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
    valid(!parent === !root && !parent === (round === 1), "parent");
    valid(arms.length && new Set(arms.map((arm) => arm.name)).size === arms.length, "arms");
    for (const { attribute } of questions) valid(!attribute || questions.some((one) => one.name === attribute && !one.attribute), "attribute");
    for (const arm of arms) {
      valid(questions.some((one) => one.name === questionOf(arm.name)), "arms");
      if (arm.mechanism.claimed.compare(facts.epsilon) > 0)
        refuse("An arm claims a larger epsilon than the study states.", "privacy");
      valid(!facts.experiment || this.experimentArm(arms.indexOf(arm)), "experiment");
      valid(!facts.repeat || (!arm.mechanism.memoised && round === 1 && spec.quota === null), "repeat");
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
  /** The name of the study on a device: another owner who claims its hash has a study of their own. */
  get key(): string {
    return `${this.study} ${this.facts.owner}`;
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
    const { study, questions, arms, round, parent, root, chosen } = record(spec, "a manifest", READERS);
    return new Manifest(spec, canonicalBytes(spec), study, questions, arms, round, parent, root, chosen);
  }

  /** Refuse it if a channel loses more than the study states, or more than this device allows. */
  check(limit: Fraction | null, lifetimeLimit: Fraction | null, accept: readonly string[] = []): void {
    for (const { mechanism } of this.arms) {
      if (!mechanism.guarantee.acceptedBy(accept))
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
    let ticket = publicTicket(join(this.digest, id), this.arms.reduce((found, arm) => found + arm.weight, 0n));
    return this.arms.findIndex((arm) => (ticket -= arm.weight) < 0n);
  }

  /** The waves in which a device answers, by the number that it drew in the wave in which it joined. */
  turns(number: Uint8Array, joined: number): number[] {
    const { waves, window } = this.facts.repeat!;
    const begun = Math.max(0, joined);
    if (begun >= waves) return [];
    let wave = begun + Number(publicTicket(join(unhex(this.study), number), BigInt(Math.min(window, waves - begun))));
    const found = [];
    for (; wave < waves; wave += window) found.push(wave);
    return found;
  }

  /** The first day of a wave. */
  begins(wave: number): string {
    const { start, repeat } = this.facts;
    return new Date(Date.parse(start!) + wave * repeat!.days * DAY).toISOString().slice(0, 10);
  }

  /** The question of an arm. */
  asked(arm: number): Question {
    const name = questionOf(this.arms[arm]!.name);
    return this.questions.find((one) => one.name === name)!;
  }

  /** The arm of the experiment that an arm of the round belongs to; null where there is no experiment. */
  experimentArm(arm: number): ExperimentArm | null {
    const name = this.arms[arm]!.name.split(":")[1]?.trim();
    return this.facts.experiment?.find((one) => one.name === name) ?? null;
  }

  /** The code of an answer to the question of an arm. */
  encode(arm: number, value: unknown): Code {
    return this.arms[arm]!.mechanism.domain.encode(this.asked(arm).answer(value));
  }

  /** Whether reports say when they were made: sealed ones do only if waves need it. */
  get tellsEpoch(): boolean {
    return !!this.facts.repeat || !this.facts.collection.sealedFor;
  }

  /** The number of the epoch of a moment. */
  epoch(now: number): number {
    const { start, repeat, collection } = this.facts;
    const [begin, days] = repeat ? [Date.parse(start!), repeat.days] : [EPOCHS_BEGIN, collection.epochDays];
    return Math.floor((now - begin) / DAY / days);
  }
}

/** A number below a count that everyone computes from public bytes, uniformly: from SHA-256 with a counter. */
function publicTicket(label: Uint8Array, count: bigint): bigint {
  const limit = (1n << 53n) - ((1n << 53n) % count);
  for (let counter = 0; ; counter++) {
    const bytes = new Uint8Array(4);
    new DataView(bytes.buffer).setUint32(0, counter);
    const ticket = new DataView(sha256(join(label, bytes)).buffer).getBigUint64(0) >> 11n;
    if (ticket < limit) return ticket % count;
  }
}

/** The question that an arm belongs to. */
export function questionOf(arm: string): string {
  return arm.split(":")[0]!;
}

function readCollection(spec: unknown): Collection {
  const further: Readers = isSpec(spec) && "ask_all" in spec ? { ask_all: flag } : {};
  const { epoch_days, invitations, sealed_for, batch, ask_all } = record(spec, "the collection", {
    ...further,
    ...{ epoch_days: count(1n, 366n), invitations: flag, sealed_for: maybe(text), batch: maybe(integer(2n, 1n << 40n)) },
  });
  valid((sealed_for === null) === (batch === null) && (!batch || /^[0-9a-f]{64}$/.test(sealed_for)), "sealed_for");
  return { epochDays: epoch_days, invitations, sealedFor: sealed_for, askAll: !!ask_all };
}

function date(value: unknown): string {
  const day = text(value);
  valid(!day || (DATE.test(day) && new Date(`${day}T00:00:00Z`).toJSON()?.slice(0, 10) === day && Number(day.slice(0, 4))));
  return day;
}

function hash(value: unknown): string {
  valid(/^[0-9a-f]{64}$/.test(text(value)));
  return value as string;
}

function readFacts(spec: unknown): Facts {
  const further: Readers = {
    ...{ title: filled, translations: readLabels, experiment: listOf(readExperimentArm) },
    ...{ rounds: count(2n, 1000n), repeat: readRepeat },
  };
  const found = record(spec, "a study", {
    ...present(spec, further),
    ...{ name: text, owner: text, contact: text, purpose: text, analysts: text, unit: text, start: maybe(date), end: maybe(date) },
    ...{ epsilon: budget, lifetime: budget, languages: listOf(text), collection: readCollection },
  }) as Facts;
  for (const name of ["owner", "contact", "purpose"] as const) valid(found[name], name);
  valid(["person", "device", "event"].includes(found.unit), "unit");
  valid(found.languages.length, "languages");
  valid(found.lifetime.compare(found.epsilon) >= 0, "lifetime");
  const names = found.experiment?.map((one) => one.name);
  valid(!names || (names.length > 1 && new Set(names).size === names.length && found.unit !== "event"), "experiment");
  const { rounds, repeat, unit, epsilon, lifetime } = found;
  const times = (count: number): Fraction => epsilon.times(Fraction.of(BigInt(count)));
  valid(!rounds || (unit !== "event" && lifetime.compare(times(rounds)) <= 0), "rounds");
  valid(!repeat || (unit !== "event" && !rounds && lifetime.compare(times(Math.ceil(repeat.waves / repeat.window))) === 0), "repeat");
  valid(!repeat || (found.start && found.end === lastDay(found.start, repeat)), "repeat");
  return found;
}

function readRepeat(spec: unknown): Repeat {
  const readers = { days: count(1n, 366n), waves: count(2n, 10_000n), window: count(1n, 10_000n) };
  const found = record(spec, "a repeated study", readers) as Repeat;
  valid(found.window <= found.waves, "window");
  return found;
}

function lastDay(start: string, { days, waves }: Repeat): string {
  return new Date(Date.parse(start) + (days * waves - 1) * DAY).toISOString().slice(0, 10);
}

/** The readers of those keys that a specification has. */
function present(spec: unknown, further: Readers): Readers {
  return Object.fromEntries(Object.entries(further).filter(([key]) => isSpec(spec) && key in spec));
}

function filled(value: unknown): string {
  valid(value);
  return text(value);
}

/** Texts by their names. */
function table(spec: unknown): { [name: string]: string } {
  valid(isSpec(spec));
  for (const one of Object.values(spec as Spec)) text(one);
  return spec as { [name: string]: string };
}

function readAsked(spec: unknown): { kind: string; domain: Domain } {
  const { domain, ...asked } = isSpec(spec) ? spec : ({} as Spec);
  return { kind: unread(asked), domain: domainFrom(domain) };
}

function readQuestion(spec: unknown): Question {
  const readers: Readers = {
    ...{ name: text, question: readAsked, texts: table, missing: listOf(text), share: count(1n, 1000n), unit: text },
  };
  Object.assign(readers, present(spec, { labels: readLabels, attribute: filled, units: table, group_texts: table, attribute_texts: readLabels }));
  const { name, question, texts, missing, share, unit, labels, attribute, units } = record(spec, "a question", readers);
  return new Question(name, question.kind, question.domain, texts, missing, share, unit, labels, attribute, units);
}

/** What participants read instead of an answer, by language. */
function readLabels(spec: unknown): Labels {
  valid(isSpec(spec) && Object.values(spec).map(table).length);
  return spec as Labels;
}

function readExperimentArm(spec: unknown): ExperimentArm {
  return record(spec, "an arm of an experiment", { name: filled, share: count(1n, 1000n), texts: table }) as ExperimentArm;
}

function readArm(spec: unknown): Arm {
  return record(spec, "an arm", { name: text, weight: integer(1n, 1n << 20n), mechanism: Mechanism.read }) as Arm;
}

function readVersion(version: unknown): void {
  need(version === 1n, "This manifest has another version than 1: update the client.");
}

const READERS: Readers = {
  ...{ version: readVersion, study: readFacts, questions: listOf(readQuestion), arms: listOf(readArm) },
  ...{ round: count(1n, (1n << 32n) - 1n), quota: maybe(integer(1n)), parent: maybe(hash), root: maybe(hash), chosen: flag },
};

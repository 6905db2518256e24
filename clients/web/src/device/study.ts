/** A participant's device in a study: it reads the manifest, may refuse it, answers, and sends what it wrote down. */
import type { Code } from "../channel/channel";
import { bitLength, fromBytes, hex, join, toBytes, unhex, utf8 } from "../core/bytes";
import { KeptCoins, randomBytes } from "../core/coins";
import { decimalText, exactly, loss, readDecimal, within } from "../core/decimal";
import { need, part, refuse } from "../core/errors";
import { Fraction, larger, ZERO } from "../core/fraction";
import { hmac } from "../core/sha256";
import type { ExperimentArm, Manifest, Question } from "../manifest";
import type { Mechanism } from "../mechanism";
import type { Meaning } from "./meaning";
import { bodyOf, online, QUEUED, Sender, WITHDRAWN, type Entry, type Seal } from "./send";
import type { Store, Stores } from "./store";
import { atTick, tickOf } from "./tick";

const FIRST_WAIT = 1000;
const LONGEST_WAIT = 60_000;

export interface Options {
  /** The largest epsilon of one report that this device allows. */
  limit?: number | string;
  /** The largest sum of the losses of all reports of this device, over all studies. */
  lifetimeLimit?: number | string;
  /** Guarantees beside pure ones that are accepted, such as "utility_optimised". */
  accept?: string[];
  /** The address of the study, where the manifest was given as data. */
  url?: string;
  /** The invitation, in hexadecimal, in studies that need one. */
  invitation?: string;
  /** The name of the arm, in rounds where participants choose it. */
  arm?: string;
  /** The name of the browser's database. */
  database?: string;
  /** The clock, for tests. */
  now?: () => number;
}

/** What is sent of an answer, before it is sent. */
export interface Preview {
  /** The name of the question that the device drew. */
  question: string;
  /** The answer before noise. */
  before: unknown;
  /** What the report says, for people. */
  after: Meaning;
  /** The answer after noise, as it travels. */
  payload: Uint8Array;
  /** Everything that is sent: header, id and payload. */
  bytes: Uint8Array;
  epsilon: number;
}

/** What became of a report. */
export interface Delivery {
  id: string;
  question: string;
  state: string;
}

interface Coded {
  arm: number;
  code: Code;
}

interface Drawn {
  arm: number;
  id: Uint8Array;
  payload: Uint8Array;
  memo: { key: string; answer: string; cohort: string; secret: Uint8Array } | null;
}

/** The report that was written, or why a limit refuses it. */
type Written = Entry | string;

interface Charge {
  /** The key of a study on this device. */
  study: string;
  epsilon: number;
  /** Further studies that got reports of a value that is kept. */
  also?: string[];
}

/** Whether a charge counts in a study. */
const counts = (one: Charge, study: string): boolean => one.study === study || !!one.also?.includes(study);

export function exactLimit(name: string, value: number | string | undefined): Fraction | null {
  if (value === undefined) return null;
  const number = readDecimal(String(value));
  if (!number || number.n < 0n) refuse(`The ${name} of a device must be a number of at least 0.`, "privacy");
  return number;
}

export class Study {
  private readonly sender: Sender;
  private readonly allowed: Fraction | null;
  private readonly allowedEver: Fraction | null;
  private readonly now: () => number;
  private draft = new Draft();
  private timer: ReturnType<typeof setTimeout> | null = null;
  private wait = FIRST_WAIT;

  constructor(
    readonly manifest: Manifest,
    /** The address of the study at its collector; empty if nothing is sent. */
    readonly url: string,
    private readonly store: Store,
    private readonly options: Options,
    private readonly seal?: Seal,
    private closed = false,
  ) {
    this.now = options.now ?? Date.now;
    this.sender = new Sender(store, this.now, seal);
    this.allowed = exactLimit("limit", options.limit);
    this.allowedEver = exactLimit("lifetimeLimit", options.lifetimeLimit);
    this.check();
    addEventListener("online", () => void this.flush());
    void this.flush();
  }

  // --- what the study says ------------------------------------------------------------------------
  get id(): string {
    return this.manifest.id;
  }
  get name(): string {
    return this.manifest.facts.name;
  }
  /** Owner, contact, purpose, unit of privacy and the other facts of the manifest; budgets as decimal texts. */
  get facts(): { [name: string]: unknown } {
    const { epsilon, lifetime, ...rest } = this.manifest.facts;
    return { ...rest, epsilon: decimalText(epsilon), lifetime: decimalText(lifetime) };
  }
  get questions(): readonly Question[] {
    return this.manifest.questions;
  }
  /** The largest privacy loss of one report, computed here from the channels. */
  get epsilon(): number {
    return Math.max(...this.mechanisms.map((one) => one.epsilon));
  }
  /** Whether this browser keeps what was sent. */
  get lasting(): boolean {
    return this.store.lasting;
  }
  private get mechanisms(): Mechanism[] {
    return this.manifest.arms.map((arm) => arm.mechanism);
  }
  /** The fingerprints of the round's mechanisms if all of them keep a memo, else empty. */
  private get memos(): string {
    if (!this.mechanisms.every((one) => one.memoised)) return "";
    return [...new Set(this.mechanisms.map((one) => one.fingerprint))].sort().join(" ");
  }

  /**
   * The names under which answers are needed: of the question that this device drew, or of all where the study asks all.
   * The question stays the same until a report is written, also after a reload, so that nobody picks one.
   */
  async asks(): Promise<string[]> {
    return this.needed(await this.drawnArm(this.draft));
  }

  /** The attributes of a table that this device drew; undefined for other questions. */
  async attributes(): Promise<string[] | undefined> {
    return this.mechanisms[await this.drawnArm(this.draft)]!.domain.names;
  }

  /** The arm of the experiment that this device drew with the question; null where the study has no experiment. */
  async experimentArm(): Promise<ExperimentArm | null> {
    return this.manifest.experimentArm(await this.drawnArm(this.draft));
  }

  /** Refuse a study that this device would not answer, before anyone is asked. */
  private check(): void {
    const { facts } = this.manifest;
    this.manifest.check(this.allowed, null, this.options.accept);
    for (const { ratio, ratioForever } of this.mechanisms) {
      const loses = (most: Fraction): boolean => !within(ratioForever ?? ratio, most);
      need(!ratioForever || !loses(facts.lifetime), "One value loses more than the lifetime budget of the study.", "privacy");
      need(!this.allowedEver || !loses(this.allowedEver), "One value loses more than this device allows in its lifetime.", "privacy");
    }
    const day = new Date(this.now()).toISOString().slice(0, 10);
    if (facts.start && day < facts.start) refuse("This study has not begun.", "study", "not_begun");
    if (facts.end && day > facts.end) refuse("This study has ended.", "study", "ended");
    if (!this.store.lasting && (facts.unit === "event" || facts.rounds || facts.repeat || this.mechanisms.some((one) => one.memoised)))
      refuse(
        "This browser keeps nothing, so losses would add up.",
        "storage",
        "no_storage",
      );
    const needed = facts.collection.invitations;
    const token = this.options.invitation ?? "";
    if (needed ? !/^[0-9a-f]{32}$/.test(token) : token)
      refuse(needed ? "This study needs an invitation." : "This study takes no invitations.", "study", "invitation");
  }

  // --- answering ----------------------------------------------------------------------------------
  /** What would be sent for these answers. The noise is drawn once, so looking again shows the same until it is sent. */
  async preview(answers: { [question: string]: unknown }): Promise<Preview> {
    await this.draft.earlier; // a send that fails gives its draft back
    const { draft } = this;
    const answer = await this.coded(answers, draft);
    const drawn = await this.store.change((stores) => this.draw(stores, answer, draft));
    const entry = this.entry(drawn, 0, draft);
    const { mechanism } = this.manifest.arms[drawn.arm]!;
    const { meaning } = await part(import("./meaning"));
    return {
      question: entry.question,
      before: answers[this.manifest.asked(drawn.arm).key],
      after: meaning(this.manifest, drawn.arm, drawn.payload, drawn.id),
      payload: drawn.payload,
      bytes: unhex(entry.body),
      epsilon: mechanism.epsilon,
    };
  }

  /**
   * Answer: charge the account and write the report in one transaction, then send it, now or when it is possible. A study
   * that is closed is not answered, so nothing is charged.
   */
  async send(answers: { [question: string]: unknown }): Promise<Delivery> {
    // Taken before anything is awaited: the next call draws an id and noise of its own.
    const { draft } = this;
    let [sends, found]: [boolean, Written | null] = [false, null];
    let ended: () => void;
    this.draft = new Draft(new Promise((resolve) => (ended = resolve)));
    try {
      sends = await this.reached();
      found = await atTick(tickOf(this.mechanisms), async () => {
        const answer = await this.coded(answers, draft); // within the tick: how long it takes depends on the answers
        return this.store.change((stores) => this.written(stores, answer, Number(sends), draft));
      });
    } finally {
      draft.arm = null; // which question is next, the store says
      // Nothing was written: the noise that was shown stays that of the next report, unless another is shown by now.
      if (!found && !this.draft.id) this.draft = draft;
      ended!();
    }
    if (typeof found === "string") return refuse(found, "privacy");
    const { id, question } = found;
    const state = sends ? (await this.sender.attempt(found)).state : QUEUED;
    if (state === QUEUED) this.later(0);
    return { id, question, state };
  }

  /** Whether the collector is reached and takes reports of this round; one that does not is refused. */
  private async reached(): Promise<boolean> {
    const current = this.url && online() ? await this.sender.current(this.url) : null;
    if (current !== null) this.closed = !current;
    if (this.closed) refuse("This study is closed.", "study", "closed");
    if (current && current !== this.manifest.hash) refuse("This study has a new round: open it again.", "study", "outdated");
    return current !== null;
  }

  /** The arm that was drawn, and the code of the answer to its question. */
  private async coded(answers: { [question: string]: unknown }, draft: Draft): Promise<Coded> {
    const { manifest } = this;
    const arm = await this.drawnArm(draft);
    for (const key of this.needed(arm))
      if (typeof answers !== "object" || answers === null || !Object.hasOwn(answers, key))
        refuse(`The question '${key}' needs an answer.`, "domain");
    return { arm, code: manifest.encode(arm, answers[manifest.asked(arm).key]) };
  }

  private needed(drawn: number): string[] {
    const { arms, facts } = this.manifest;
    const asked = facts.collection.askAll ? [...arms.keys()] : [drawn];
    return [...new Set(asked.map((arm) => this.manifest.asked(arm).key))];
  }

  /** The arm of a draft: drawn before anything is asked, kept over reloads and sends that fail. */
  private async drawnArm(draft: Draft): Promise<number> {
    await draft.earlier;
    return this.chosenArm() ?? (draft.arm ??= this.store.change(async (stores) => {
      if (this.manifest.facts.repeat) await this.turns(stores); // kept, whether it is the device's turn or not
      const arm = (await stores.get<number>("studies", this.armKey)) ?? this.manifest.armOf(randomBytes(16));
      await stores.put("studies", this.armKey, arm);
      return arm;
    }));
  }

  private get armKey(): string {
    return `arm ${this.manifest.hash}`;
  }

  private chosenArm(): number | null {
    const { chosen, arms } = this.manifest;
    if (!chosen) return null;
    const place = arms.findIndex((arm) => arm.name === this.options.arm);
    return place >= 0 ? place : refuse("Participants choose their budget: give the arm.", "study");
  }

  /** The report of this draft: the same again for the same answers. */
  private async draw(stores: Stores, { arm, code }: Coded, draft: Draft): Promise<Drawn> {
    const { manifest } = this;
    const { mechanism } = manifest.arms[arm]!;
    const { fingerprint } = mechanism;
    let [cohort, answer, memo]: [bigint | undefined, bigint, Drawn["memo"]] = [undefined, 0n, null];
    if (mechanism.memoised) {
      const secret = (await stores.get<Uint8Array>("device", "secret")) ?? (draft.secret ??= randomBytes(32));
      const known = await stores.get<string>("device", `cohort ${fingerprint}`);
      cohort = known === undefined ? mechanism.drawCohort(draft.cohort.rewind()) : BigInt(known);
      const kept = mechanism.keptCode(code, new KeptCoins([hmac(secret, unhex(fingerprint)).slice(0, 8)]), cohort);
      const key = hex(hmac(secret, join(unhex(fingerprint), utf8(codeText(kept)))));
      const before = await stores.get<{ answer: string }>("memos", key);
      const drawn = mechanism.rememberCode(kept, draft.memo.rewind());
      answer = before ? fromBytes(unhex(before.answer)) : drawn;
      memo = { key, answer: hex(toBytes(answer, Math.ceil(bitLength(answer) / 8) || 1)), cohort: String(cohort), secret };
    }
    // An id of another cohort would show that this device has two.
    draft.id ??= randomBytes(16);
    while (!mechanism.accepts(draft.id, cohort) || (!manifest.chosen && manifest.armOf(draft.id) !== arm)) draft.id = randomBytes(16);
    const coins = draft.report.rewind();
    const payload = memo ? mechanism.payloadFrom(answer, draft.id, coins) : mechanism.payload(code, draft.id, coins);
    return { arm, id: draft.id, payload, memo };
  }

  private async written(stores: Stores, answer: Coded, attempts: number, draft: Draft): Promise<Written> {
    const { key: study } = this.manifest;
    if (await this.optedOutBefore(stores)) refuse("You have opted out of this study.", "study", "opted_out");
    await this.checkOnce(stores);
    // One drawn question, one report: whoever keeps pages open could pick questions otherwise.
    if (!this.manifest.chosen && (await stores.get("studies", this.armKey)) !== answer.arm)
      refuse("This study has a new question: open it again.", "study", "outdated");
    await stores.put("studies", `facts ${study}`, this.manifest.said);
    const drawn = await this.draw(stores, answer, draft);
    const { mechanism } = this.manifest.arms[drawn.arm]!;
    const charge = (epsilon: number): Charge => ({ study, epsilon });
    let more = ZERO;
    if (drawn.memo) {
      await stores.put("device", "secret", drawn.memo.secret);
      await stores.put("device", `cohort ${mechanism.fingerprint}`, drawn.memo.cohort);
      await stores.put("memos", drawn.memo.key, { answer: drawn.memo.answer });
      // Charged once altogether; but it counts in each study that gets reports of it.
      const before = await stores.get<Charge>("charges", drawn.memo.key);
      const also = before ? [...new Set([...(before.also ?? []), study])] : [];
      await stores.put("charges", drawn.memo.key, { ...(before ?? charge(loss(mechanism.ratioForever!))), also });
    } else for (const one of this.mechanisms) if (!one.memoised) more = larger(more, exactly(one.epsilon));
    const refusal = await this.refusal(stores, more);
    // A value that is kept stays charged: refusing this value only would show that it is new.
    if (refusal !== null) return refusal;
    if (!drawn.memo) await stores.add("charges", hex(drawn.id), charge(mechanism.epsilon));
    await stores.remove("studies", this.armKey); // the next report draws a question of its own
    const entry = this.entry(drawn, attempts, draft);
    await stores.add("reports", entry.id, entry);
    return entry;
  }

  private entry(drawn: Drawn, attempts: number, draft: Draft): Entry {
    const { manifest, url } = this;
    const entry = {
      ...{ id: hex(drawn.id), study: manifest.key, name: this.name, question: manifest.asked(drawn.arm).name },
      ...{ manifest: manifest.hash, round: manifest.round, arm: drawn.arm, epoch: manifest.epoch(this.now()), memos: this.memos },
      ...{ token: this.options.invitation ?? "", payload: hex(drawn.payload), url, attempts, state: QUEUED, sealed: !!this.seal },
    };
    return { ...entry, body: bodyOf(entry, manifest, this.seal, draft.sealing ??= randomBytes(32)) };
  }

  /**
   * One answer of a person or device to a study, which stays the same. A further epoch is answered only where every report
   * so far was made by a round of the same mechanisms, all of which keep a memo.
   */
  private async checkOnce(stores: Stores): Promise<void> {
    const said = await stores.get<string>("studies", `facts ${this.manifest.key}`);
    if (said !== undefined && said !== this.manifest.said)
      refuse("This round describes another study than before.", "privacy");
    const { unit, repeat, rounds } = this.manifest.facts;
    if (unit === "event") return;
    const [memos, epoch] = [this.memos, this.manifest.epoch(this.now())];
    const before = await this.reportsBefore(stores);
    const again = (one: Entry): boolean =>
      repeat ? Math.abs(one.epoch - epoch) < repeat.window
      : rounds ? before.length >= rounds || one.round >= this.manifest.round
      : !memos || one.memos !== memos || one.epoch >= epoch;
    if (before.some(again)) refuse("This device has answered this study already.", "privacy", "answered");
    if (repeat && !(await this.turns(stores)).includes(epoch))
      refuse("It is not the turn of this device.", "privacy", "waiting");
  }

  /** The waves in which this device answers: by a number that it draws when it first opens the study. */
  private async turns(stores: Stores): Promise<number[]> {
    const key = `turn ${this.manifest.key}`;
    const drawn = { number: hex(randomBytes(16)), joined: this.manifest.epoch(this.now()) };
    const { number, joined } = (await stores.get<typeof drawn>("studies", key)) ?? drawn;
    await stores.put("studies", key, { number, joined });
    return this.manifest.turns(unhex(number), joined);
  }

  /** The first day of the next wave that this device answers; null where there is none, or the study is asked once. */
  async nextTurn(): Promise<string | null> {
    if (!this.manifest.facts.repeat) return null;
    const now = this.manifest.epoch(this.now());
    const next = (await this.store.change((stores) => this.turns(stores))).find((wave) => wave > now);
    return next === undefined ? null : this.manifest.begins(next);
  }

  /** Why the losses would exceed a limit with this report, or null. */
  private async refusal(stores: Stores, more: Fraction): Promise<string | null> {
    const charges = await stores.all<Charge>("charges");
    const lost = (some: Charge[]): Fraction => some.reduce((sum, one) => sum.plus(exactly(one.epsilon)), more);
    if (this.allowedEver && lost(charges).compare(withRounding(this.allowedEver)) > 0)
      return "With this report the device would lose more than it allows in its lifetime.";
    const { facts, key: study } = this.manifest;
    if (lost(charges.filter((one) => counts(one, study))).compare(withRounding(facts.lifetime)) > 0)
      return "With this report the device would lose more than the lifetime budget of the study.";
    return null;
  }

  // --- what the participant sees and decides --------------------------------------------------------
  /** Every report that this device made for the study, with the exact bytes and what became of them. */
  async sent(): Promise<Entry[]> {
    return this.store.change((stores) => this.reportsBefore(stores));
  }

  private async reportsBefore(stores: Stores): Promise<Entry[]> {
    return (await stores.all<Entry>("reports")).filter((one) => one.study === this.manifest.key);
  }

  private async optedOutBefore(stores: Stores): Promise<boolean> {
    return (await stores.get("studies", this.manifest.key)) !== undefined;
  }

  /** What this device lost so far: in the last waves of this study that count together, in this study, and altogether. */
  async spent(): Promise<{ window: number; study: number; total: number }> {
    const { key, facts } = this.manifest;
    const since = this.manifest.epoch(this.now()) - (facts.repeat?.window ?? 1);
    return this.store.change(async (stores) => {
      const charges = await stores.all<Charge>("charges");
      const sum = (some: (Charge | undefined)[]): number => some.reduce((found, one) => found + (one?.epsilon ?? 0), 0);
      const late = (await this.reportsBefore(stores)).filter((one) => one.epoch > since);
      const near = await Promise.all(late.map((one) => stores.get<Charge>("charges", one.id)));
      return { window: sum(near), study: sum(charges.filter((one) => counts(one, key))), total: sum(charges) };
    });
  }

  /** Whether the study can be answered, as far as this page knows: "open", "closed", "answered", "waiting" or "opted_out". */
  async state(): Promise<string> {
    return this.store.change(async (stores) => {
      if (await this.optedOutBefore(stores)) return "opted_out";
      try {
        await this.checkOnce(stores);
        return this.closed ? "closed" : "open";
      } catch (problem) {
        const { code } = problem as { code?: string };
        return code === "waiting" ? code : "answered";
      }
    });
  }

  /**
   * Delete what is unsent, and answer no more; gives the number of deleted reports. The charge of a report that never
   * left is taken back. What was counted is part of a sum and cannot be taken out of it.
   */
  async optOut(): Promise<number> {
    return this.store.change(async (stores) => {
      const queued = (await this.reportsBefore(stores)).filter((one) => one.state === QUEUED);
      for (const entry of queued) {
        if (entry.attempts)
          await stores.put("reports", entry.id, { ...entry, payload: "", body: "", token: "", state: WITHDRAWN });
        else {
          await stores.remove("reports", entry.id);
          await stores.remove("charges", entry.id);
        }
      }
      await stores.put("studies", this.manifest.key, { optedOut: true });
      return queued.length;
    });
  }

  /** Take part again. */
  async optIn(): Promise<void> {
    await this.store.change((stores) => stores.remove("studies", this.manifest.key));
  }

  /** Send what is queued now. Resolves when nothing is left or the collector cannot be reached. */
  async flush(): Promise<void> {
    if (!this.url) return;
    try {
      const wait = await this.sender.flush(this.manifest);
      if (wait !== null) this.later(wait);
      else this.wait = FIRST_WAIT;
    } catch {
      this.later(0);
    }
  }

  /** Try again after a while that grows. */
  private later(asked: number): void {
    if (this.timer !== null || !this.url) return;
    this.timer = setTimeout(
      () => {
        this.timer = null;
        void this.flush();
      },
      Math.max(asked, this.wait),
    );
    this.wait = Math.min(2 * this.wait, LONGEST_WAIT);
  }
}

/** The coins of one participation, drawn once and kept until it is sent. */
class Draft {
  arm: Promise<number> | null = null;
  id: Uint8Array | null = null;
  sealing: Uint8Array | null = null;
  secret: Uint8Array | null = null;
  /** Settled when the send before this draft has ended: the arm that is kept is its arm until then. */
  constructor(readonly earlier: Promise<void> | null = null) {}
  readonly report = new KeptCoins();
  readonly cohort = new KeptCoins();
  readonly memo = new KeptCoins();
}

/** What losses that keep a limit may add up to: each is rounded up to a float, by less than one part in 2**52. */
function withRounding(limit: Fraction): Fraction {
  return limit.times(Fraction.of((1n << 52n) + 1n, 1n << 52n));
}

/** A code as a text: equal codes have equal texts. */
function codeText(code: Code): string {
  if (Array.isArray(code)) return `(${code.map(codeText).join(",")})`;
  return code instanceof Fraction ? code.text() : String(code);
}


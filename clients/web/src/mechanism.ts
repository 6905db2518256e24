/** A mechanism: read from its specification alone. Its privacy loss is computed here, not believed. */
import { checkMemos, NO_WORDS, channelFrom, nested, type Channel, type Code, type Words } from "./channel/channel";
import "./channel/bits";
import "./channel/compose";
import "./channel/maps";
import "./channel/numeric";
import "./channel/sets";
import "./channel/side";
import { hex, join, toBytes } from "./core/bytes";
import { SystemCoins, type Coins } from "./core/coins";
import { budget, loss, within } from "./core/decimal";
import { need, refuse } from "./core/errors";
import { idBytes, idWords } from "./core/field";
import { Fraction, metered, product } from "./core/fraction";
import { canonicalBytes, isSpec, named, parse, type Plain, type Spec } from "./core/json";
import { integer, maybe, record, text, valid, type Readers } from "./core/read";
import { sha256 } from "./core/sha256";
import { domainFrom, type Domain } from "./domain/domain";
import "./domain/views";
import { VECTORS } from "./seldom";
import { checkFits } from "./domain/fits";
import { IDEALISED, readGuarantee, type Guarantee } from "./guarantee";

const FLOAT_NODES = ["cap", "projected"];
const MOST_NODES = 1 << 12;
const MOST_TRIES = 16n;
const MOST_WORDS = 1 << 22;
const MOST_PAYLOAD = 1 << 24;
const MOST_UNREAD = 1 << 15;

/** The kind of a question or a statistic. All else about them is the collector's business, also where a kind is new. */
export function unread(spec: unknown): string {
  const kind = isSpec(spec) ? text(spec.kind) : "";
  valid(/^[a-z][a-z\d-]{0,39}$/.test(kind) && canonicalBytes(spec as Spec).length <= MOST_UNREAD);
  return kind;
}

export class Mechanism {
  /** The largest likelihood ratio of one report, exactly. */
  readonly ratio: Fraction;
  /** That of all reports of one unchanged value together, where a device keeps a memo. */
  readonly ratioForever: Fraction | null;
  readonly payloadBytes: number;
  private known: { epsilon?: number; forever?: number } = {};

  private constructor(
    readonly name: string,
    readonly domain: Domain,
    readonly channel: Channel,
    /** The epsilon that the specification claims. */
    readonly claimed: Fraction,
    readonly claimedForever: Fraction | null,
    readonly guarantee: Guarantee,
    readonly spec: Spec,
    readonly fingerprint: string,
  ) {
    checkFits(domain, channel);
    checkMemos(channel);
    const tries = product([channel, ...nested(channel)].map((node) => node.tries));
    need(
      channel.words <= MOST_WORDS && channel.payloadBits <= MOST_PAYLOAD && tries.compare(Fraction.of(MOST_TRIES)) <= 0,
      "A report of this mechanism takes too long.",
    );
    this.payloadBytes = Math.max(1, Math.ceil(channel.payloadBits / 8));
    this.ratio = guarantee.ratio(channel);
    if (!within(this.ratio, claimed)) refuse("This mechanism has a larger epsilon than it claims.", "privacy");
    this.ratioForever = channel.stages ? channel.stages[0].ratio() : null;
    need(!this.ratioForever === !claimedForever, "A memo needs an epsilon of its own.");
    if (this.ratioForever && !within(this.ratioForever, claimedForever!))
      refuse("All reports of one value have a larger epsilon than this mechanism claims.", "privacy");
  }

  /** Read a specification: text, bytes or plain data. */
  static fromSpec(source: unknown): Mechanism {
    const { spec, bytes } = parse(source);
    return metered(bytes, () => Mechanism.read(spec));
  }

  static read(spec: unknown): Mechanism {
    const found = record(spec, "a mechanism", READERS);
    const { name, version, unused, codec } = found;
    valid(name && [...name].length <= 100, "name");
    need(version === 1n, "This mechanism has another version than 1: update the client.");
    valid(unused !== "" && !(unused?.length > 800), "unused");
    const made = new Mechanism(
      name,
      found.domain,
      found.channel,
      found.epsilon,
      found.epsilon_forever,
      found.guarantee,
      spec as Spec,
      hex(sha256(canonicalBytes(spec as Spec))),
    );
    need(codec.bytes === BigInt(made.payloadBytes), "The codec of this mechanism has another number of bytes.");
    return made;
  }

  /** The privacy loss of one report: ln(ratio), rounded up. */
  get epsilon(): number {
    return (this.known.epsilon ??= loss(this.ratio));
  }
  get epsilonForever(): number | null {
    return this.ratioForever === null ? null : (this.known.forever ??= loss(this.ratioForever));
  }
  get memoised(): boolean {
    return this.channel.stages !== null;
  }
  /** Whether the loss of one report is at most this. */
  within(epsilon: Fraction): boolean {
    return within(this.ratio, epsilon);
  }

  // --- one answer ----------------------------------------------------------------------------------
  /** The message of one participant: a 16-byte id, then the payload. */
  randomize(value: unknown, coins: Coins = new SystemCoins()): Uint8Array {
    const code = this.domain.encode(value); // refuses before a coin is drawn
    need(!this.memoised, "This mechanism keeps a memo.", "privacy");
    coins.begin(this.channel.words + 2);
    const words = this.publicWords(coins);
    return join(idBytes(words), this.encoded(this.channel.sample(code, coins, this.given(words))));
  }

  /** The payload of a code under an id that was drawn before. The coins hold the words of the channel. */
  payload(code: Code, id: Uint8Array, coins: Coins): Uint8Array {
    coins.begin(this.channel.words);
    return this.encoded(this.channel.sample(code, coins, this.given(idWords(id))));
  }

  /** Whether an id may be that of a report; with a memo, of a device of a cohort. */
  accepts(id: Uint8Array, cohort?: bigint): boolean {
    const words = idWords(id);
    return this.channel.accepts(words) && (cohort === undefined || this.channel.cohort(words) === cohort);
  }

  private publicWords(coins: Coins, cohort?: bigint): Words {
    let words: Words = [coins.word(), coins.word()];
    while (!this.channel.accepts(words) || (cohort !== undefined && this.channel.cohort(words) !== cohort))
      words = [coins.extra(), coins.extra()];
    return words;
  }

  private given(words: Words): Words {
    return this.channel.publics ? words : NO_WORDS;
  }

  private encoded(report: bigint): Uint8Array {
    return toBytes(report, this.payloadBytes);
  }

  /** The cohort of a device, drawn once and kept. */
  drawCohort(coins: Coins = new SystemCoins()): bigint {
    coins.begin(1);
    return coins.below(this.channel.cohorts);
  }

  private kept(): readonly [Channel, Channel] {
    return this.channel.stages ?? refuse("This mechanism keeps no memo.", "privacy");
  }

  /** The memo of a value, drawn once and kept; drawing it again would spend the budget again. */
  remember(value: unknown, coins: Coins = new SystemCoins(), cohort = 0n): bigint {
    return this.rememberCode(this.channel.mappedIn(cohort, this.domain.encode(value)), coins);
  }

  /**
   * What a memo is kept of: the value of a cohort's map, or the grid point to which a number is rounded. The coins are
   * the same for all values of a device, so that all numbers are rounded at the same point.
   */
  keptCode(code: Code, coins: Coins, cohort: bigint): Code {
    const grid = this.channel.rounding;
    if (!grid) return this.channel.mappedIn(cohort, code);
    coins.begin(grid.words);
    return grid.low.plus(grid.step.times(Fraction.of(grid.sample(code, coins))));
  }

  /** The memo of such a code. */
  rememberCode(code: Code, coins: Coins): bigint {
    const [first] = this.kept();
    coins.begin(first.words);
    return first.sample(code, coins);
  }

  /** A fresh message of a device that keeps this memo, and the cohort in which it was drawn. */
  answerFrom(memo: bigint, coins: Coins = new SystemCoins(), cohort = 0n): Uint8Array {
    const [first, second] = this.kept();
    need(first.contains(memo) && cohort >= 0n && cohort < this.channel.cohorts, "This memo is invalid.", "privacy");
    coins.begin(second.words + 2);
    const words = this.publicWords(coins, cohort);
    return join(idBytes(words), this.encoded(second.sample(memo, coins, this.given(words))));
  }

  /** The payload of a memo under an id that was drawn before. */
  payloadFrom(memo: bigint, id: Uint8Array, coins: Coins): Uint8Array {
    const [, second] = this.kept();
    coins.begin(second.words);
    return this.encoded(second.sample(memo, coins, this.given(idWords(id))));
  }
}

function readChannel(nodes: Plain): Channel {
  const found = named(nodes, ["node"]);
  valid(found.length <= MOST_NODES && found.filter((node) => VECTORS.includes(node)).length <= 1);
  need(!found.some((node) => FLOAT_NODES.includes(node)), IDEALISED, "privacy");
  return channelFrom(nodes);
}

// A guarantee is read before a channel, whose nodes a browser may not know.
const READERS: Readers = {
  ...{ guarantee: readGuarantee, channel: readChannel, name: text, version: integer() },
  ...{ epsilon: budget, epsilon_forever: maybe(budget), question: unread, domain: domainFrom },
  ...{ statistic: unread, unused: maybe(text) },
  codec: (spec) => record(spec, "a codec", { version: integer(1n, 1n), bytes: integer() }),
};

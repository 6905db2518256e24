/** The contract of a channel: what a second implementation of the nodes writes. Reports are non-negative integers. */
import type { Coins } from "../core/coins";
import { bitLength } from "../core/bytes";
import { need, refuse, SottovoceError } from "../core/errors";
import { Fraction, ONE, spend, ZERO } from "../core/fraction";
import { integer, kindOf, type Spec } from "../core/json";
import type { Rounding } from "./numeric";

// Codes are indices (bigint), numbers (Fraction), or lists of codes.
export type Code = any; // eslint-disable-line
export type Words = readonly [bigint, bigint];
export const NO_WORDS: Words = [0n, 0n];
export const UNIT_MOST = (1n << 53n) - 1n;

const MOST_SUMMED = 1n << 18n;

export abstract class Channel {
  abstract readonly kind: string;
  /** How many codes there are. */
  abstract get inputs(): bigint;
  /** How many words the sampler owns. */
  abstract get words(): number;
  abstract get payloadBits(): number;
  abstract sample(code: Code, coins: Coins, words?: Words): bigint;
  abstract contains(report: bigint): boolean;
  /** The largest likelihood ratio between two codes, over all reports. */
  abstract ratio(): Fraction;
  abstract likelihood(report: bigint, code: Code, words?: Words): Fraction;

  /** How many reports there are, where they are numbered from 0. */
  get outputs(): bigint | null {
    return null;
  }
  get codesAreIndices(): boolean {
    return true;
  }
  *codes(): Iterable<Code> {
    for (let code = 0n; code < this.inputs; code++) yield code;
  }
  get parts(): readonly Channel[] {
    return [];
  }
  /** How many nodes, nested, read public words. */
  get publics(): number {
    return 0;
  }
  accepts(_words: Words): boolean {
    return true;
  }
  /** The mean number of ids that the node itself needs until one is accepted. */
  get tries(): Fraction {
    return ONE;
  }
  /** The grid to which a number is rounded first. */
  get rounding(): Rounding | null {
    return null;
  }
  /** The grids of the coordinates of a vector. */
  get roundings(): readonly Rounding[] | null {
    return null;
  }
  /** How many numbers an answer holds, where it is a vector. */
  get dimensions(): number | null {
    return null;
  }
  /** The sparse vectors that a channel reads, as the text of their domain. */
  get sparse(): string | null {
    return null;
  }
  /** The stage that a device draws once for each value and keeps, and the fresh one. */
  get stages(): readonly [Channel, Channel] | null {
    return null;
  }
  get cohorts(): bigint {
    return 1n;
  }
  cohort(_words: Words): bigint {
    return 0n;
  }
  mappedIn(_cohort: bigint, code: Code): Code {
    return code;
  }
  /** Largest and smallest likelihood of each output. */
  extremes(): [Fraction[], Fraction[]] {
    const most: Fraction[] = [];
    const least: Fraction[] = [];
    for (const column of this.columns("its extremes")) {
      const [high, low] = ends(column.length ? column : [ZERO]);
      most.push(high);
      least.push(low);
    }
    return [most, least];
  }
  /** The ratio of the reports that a guarantee with sensitive codes protects; null if it is infinite. */
  guardedRatio(sensitive: ReadonlySet<bigint>): Fraction | null {
    need(!this.stages && this.codesAreIndices, "A utility-optimised guarantee needs numbered codes and reports.");
    let worst = ONE;
    for (const column of this.columns("a utility-optimised guarantee")) {
      const senders = column.flatMap((one, code) => (one.n ? [BigInt(code)] : []));
      if (!senders.length || (senders.length === 1 && !sensitive.has(senders[0]!))) continue;
      if (senders.length < column.length) return null;
      const [high, low] = ends(column);
      const found = high.over(low);
      if (found.compare(worst) > 0) worst = found;
    }
    return worst;
  }
  /** The likelihoods of each output, code by code; none for a number that is not a report. */
  protected *columns(what: string): Iterable<Fraction[]> {
    const outputs = this.outputs;
    if (outputs === null || this.publics || outputs * this.inputs > MOST_SUMMED)
      return refuse(`A ${this.kind} channel is too large to find ${what}.`);
    for (let y = 0n; y < outputs; y++) {
      const column: Fraction[] = [];
      if (this.contains(y)) for (const code of this.codes()) column.push(this.likelihood(y, code));
      yield column;
    }
  }
}

function ends(column: Fraction[]): [Fraction, Fraction] {
  let [high, low] = [column[0]!, column[0]!];
  spend(column.length >> 4);
  for (const one of column) {
    if (one.compare(high) > 0) high = one;
    if (one.compare(low) < 0) low = one;
  }
  return [high, low];
}

/** A node of independent or single reports 0 ... outputs - 1, all of which can be sent. */
export abstract class Numbered extends Channel {
  abstract override get outputs(): bigint;
  get payloadBits(): number {
    return bitLength(this.outputs - 1n);
  }
  contains(report: bigint): boolean {
    return report >= 0n && report < this.outputs;
  }
}

export type NodeReader = (fields: Spec) => Channel;
export const NODES: { [kind: string]: NodeReader } = Object.create(null);

/** The channel that a specification describes. */
export function channelFrom(spec: unknown): Channel {
  const [read, fields] = kindOf(spec, "node", NODES, "A channel of a specification");
  return read(fields);
}

export function* nested(channel: Channel): Iterable<Channel> {
  for (const part of channel.parts) {
    yield part;
    yield* nested(part);
  }
}

/** A probability that is neither 0 nor 1. */
export function unit(value: unknown, owner: string, name: string): bigint {
  return integer(value, owner, name, 1n, UNIT_MOST);
}

export function informative(owner: string, own: Fraction, other: Fraction): void {
  need(own.compare(other) > 0, `The reports of this ${owner} channel are independent of the code.`);
}

export function infinite(): never {
  throw new SottovoceError("privacy", "A channel that gives no privacy is refused: its ratio is infinite.");
}

/** A device keeps the memo of a whole channel, or of one directly under its cohort. */
export function checkMemos(channel: Channel): void {
  const tops = channel.stages && channel.cohorts > 1n ? channel.parts : [channel];
  for (const top of tops)
    for (const part of nested(top)) need(!part.stages, "A channel that keeps a memo cannot be a part of another one.");
}

/** The contract of a channel: what a second implementation of the nodes writes. Reports are non-negative integers. */
import type { Coins } from "../core/coins";
import { bitLength, low, UNIT } from "../core/bytes";
import { need, refuse } from "../core/errors";
import { Fraction, larger, largest, ONE, smallest, spend, ZERO } from "../core/fraction";
import { integer, kindFrom, listOf, valid, type Kinds } from "../core/read";
import type { Rounding } from "./numeric";

// Codes are indices (bigint), numbers (Fraction), or lists of codes.
export type Code = any; // eslint-disable-line
export type Words = readonly [bigint, bigint];
export type Extremes = [Fraction[], Fraction[]];
export const NO_WORDS: Words = [0n, 0n];

export const TOO_LARGE = "The law of this channel is too large to sum up.";
const MOST_SUMMED = 1n << 18n;

export abstract class Channel {
  declare kind: string;
  parts: readonly Channel[] = [];
  codesAreIndices = true;
  /** How many nodes, nested, read public words. */
  publics = 0;
  /** The mean number of ids that the node itself needs until one is accepted. */
  tries = ONE;
  /** The grid to which a number is rounded first. */
  rounding: Rounding | null = null;
  /** The grids of the coordinates of a vector. */
  roundings: readonly Rounding[] | null = null;
  /** How many numbers an answer holds, where it is a vector. */
  dimensions: number | null = null;
  /** The sparse vectors that a channel reads, as the text of their domain. */
  sparse: string | null = null;
  /** The number of items of a set, and the most that a person may hold. */
  ticks: string | null = null;
  /** The stage that a device draws once for each value and keeps, and the fresh one. */
  stages: readonly [Channel, Channel] | null = null;
  cohorts = 1n;

  constructor(
    /** How many codes there are. */
    readonly inputs: bigint,
    /** How many words the sampler owns. */
    readonly words: number,
    /** How many reports there are, where they are numbered from 0. */
    readonly outputs: bigint | null,
    readonly payloadBits: number = bitLength(outputs! - 1n),
  ) {}

  abstract sample(code: Code, coins: Coins, words?: Words): bigint;
  /** The largest likelihood ratio between two codes, over all reports. */
  abstract ratio(): Fraction;
  abstract likelihood(report: bigint, code: Code, words?: Words): Fraction;

  contains(report: bigint): boolean {
    return report >= 0n && (this.outputs === null ? report <= low(this.payloadBits) : report < this.outputs);
  }
  *codes(): Iterable<Code> {
    for (let code = 0n; code < this.inputs; code++) yield code;
  }
  accepts(_words: Words): boolean {
    return true;
  }
  cohort(_words: Words): bigint {
    return 0n;
  }
  mappedIn(_cohort: bigint, code: Code): Code {
    return code;
  }
  /** Largest and smallest likelihood of each output. */
  extremes(): Extremes {
    const both = this.columns().map((column) => ends(column.length ? column : [ZERO]));
    return [both.map(([high]) => high), both.map(([, low]) => low)];
  }
  /** The ratio of the reports that a guarantee with sensitive codes protects; null if it is infinite. */
  guardedRatio(sensitive: readonly bigint[]): Fraction | null {
    need(!this.stages && this.codesAreIndices, "This guarantee needs numbered codes and reports.");
    let worst = ONE;
    for (const column of this.columns()) {
      const senders = column.flatMap((one, code) => (one.n ? [BigInt(code)] : []));
      if (!senders.length || (senders.length === 1 && !sensitive.includes(senders[0]!))) continue;
      if (senders.length < column.length) return null;
      const [high, low] = ends(column);
      worst = larger(worst, high.over(low));
    }
    return worst;
  }
  /** The likelihoods of each output, code by code; none for a number that is not a report. */
  private columns(): Fraction[][] {
    const outputs = this.outputs;
    if (outputs === null || this.publics || outputs * this.inputs > MOST_SUMMED)
      return refuse(TOO_LARGE);
    return Array.from({ length: Number(outputs) }, (_, y) =>
      this.contains(BigInt(y)) ? Array.from(this.codes(), (code) => this.likelihood(BigInt(y), code)) : [],
    );
  }
}

function ends(column: Fraction[]): [Fraction, Fraction] {
  spend(column.length >> 4);
  return [largest(column), smallest(column)];
}

export const NODES: Kinds<Channel> = new Map();

/** The channel that a specification describes. */
export function channelFrom(spec: unknown): Channel {
  return kindFrom(NODES, spec, "node", "channel");
}

export const channels = listOf(channelFrom);

export function nested(channel: Channel): Channel[] {
  return channel.parts.flatMap((part) => [part, ...nested(part)]);
}

/** A channel without public words and memos. */
export function plain(channel: Channel): boolean {
  return !channel.publics && !channel.stages;
}

/** A probability that is neither 0 nor 1. */
export const unit = integer(1n, UNIT - 1n);
/** One that may be. */
export const weight = integer(0n, UNIT);
export const weights = listOf(weight);

export function informative(own: Fraction, other: Fraction, name = "inside"): void {
  valid(own.compare(other) > 0, name);
}

/** A device keeps the memo of a whole channel, or of one directly under its cohort or its rounding. */
export function checkMemos(channel: Channel): void {
  const tops = channel.stages && channel.stages[0] !== channel.parts[0] ? channel.parts : [channel];
  for (const part of tops.flatMap(nested)) need(!part.stages, "A memo is no part of another channel.");
}

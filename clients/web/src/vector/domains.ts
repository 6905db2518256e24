/** Domains of vectors. */
import type { Code } from "../channel/channel";
import { least } from "../core/bytes";
import { decimal, decimalText } from "../core/decimal";
import { Fraction, ZERO } from "../core/fraction";
import { count, define, ranged, valid } from "../core/read";
import { Domain, DOMAINS, exactNumber, Integers, Interval, outside } from "../domain/domain";

export const MOST_COORDINATES = 1n << 16n;
export const LONG = 0.7315936251849027;
export type Entry = [bigint, Fraction];

/** A list of numbers that all have the same range. */
export class Box extends Domain {
  constructor(
    readonly low: Fraction,
    readonly high: Fraction,
    readonly dimensions: number,
  ) {
    super();
    this.coordinates = Array(dimensions).fill(new Interval(low, high));
  }
  encode(value: unknown): Code[] {
    const ends = `[${decimalText(this.low)}, ${decimalText(this.high)}]`;
    const listed = Array.isArray(value) || value instanceof Float64Array ? Array.from(value as number[]) : [];
    const fits = (one: unknown): boolean => {
      const found = exactNumber(one);
      return found !== null && found.compare(this.low) >= 0 && found.compare(this.high) <= 0;
    };
    if (listed.length !== this.dimensions || !listed.every(fits)) outside(`a list of ${this.dimensions} numbers in ${ends}`);
    return listed.map((one) => exactNumber(one));
  }
}

/** A long vector with few nonzero numbers: a map from places to numbers, or a list of pairs. */
export class Sparse extends Domain {
  private readonly places: Integers;
  private readonly side: Interval;
  constructor(
    readonly dimensions: number,
    readonly most: number,
    readonly bound: Fraction,
  ) {
    super();
    ranged(BigInt(most), 1n, least(BigInt(dimensions), 4096n), "most");
    valid(bound.n > 0n, "bound");
    this.places = new Integers(0n, BigInt(dimensions - 1));
    this.side = new Interval(ZERO.minus(bound), bound);
  }
  encode(value: unknown): Entry[] {
    const end = decimalText(this.bound);
    const wrong = (): never =>
      outside(`a map from different places below ${this.dimensions} to numbers in [-${end}, ${end}], at most ${this.most} of them nonzero`);
    const listed: unknown[] =
      value instanceof Map ? [...value] : Array.isArray(value) ? value : isObject(value) ? keyed(value) : wrong();
    // A filler is read for each empty slot, so that the time does not depend on the number of entries.
    const filler = (LONG * Number(this.bound.n)) / Number(this.bound.d);
    const padded = [...listed, ...Array(Math.max(0, this.most - listed.length)).fill([0, filler])];
    let read: Entry[] = [];
    try {
      read = padded.map((entry) => {
        if (!Array.isArray(entry) || entry.length !== 2) wrong();
        return [this.places.encode(entry[0]), this.side.encode(entry[1])];
      });
    } catch {
      wrong();
    }
    const own = read.slice(0, listed.length);
    const held = own.filter(([, one]) => one.n !== 0n).sort((a, b) => (a[0] < b[0] ? -1 : 1));
    if (new Set(own.map(([place]) => place)).size < own.length || held.length > this.most) wrong();
    return held;
  }
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}

function keyed(value: object): [unknown, unknown][] {
  return Object.entries(value).map(([place, one]) => [/^(0|[1-9]\d{0,15})$/.test(place) ? Number(place) : null, one]);
}

export const SPARSE = { dimensions: count(2n, 1n << 20n), most: count(1n, 4096n), bound: decimal };
define(DOMAINS, "box", Box, { low: decimal, high: decimal, dimensions: count(1n, MOST_COORDINATES) });
define(DOMAINS, "sparse", Sparse, SPARSE);

/** `subset` and `table`: channels of finitely many codes with short closed forms. */
import { bitCount, bitLength, running, sum, UNIT } from "../core/bytes";
import type { Coins } from "../core/coins";
import { infinite } from "../core/errors";
import { Fraction, larger, ONE, spend, units } from "../core/fraction";
import { define, integer, listOf, ranged, valid } from "../core/read";
import { Channel, informative, NODES, unit, weights, type Extremes } from "./channel";

export function skip(index: bigint, code: bigint): bigint {
  return index + BigInt(index >= code);
}

export function choose(n: bigint, k: bigint): bigint {
  if (k < 0n || k > n) return 0n;
  const few = k < n - k ? k : n - k;
  spend(Number(few) >> 2);
  let found = 1n;
  for (let i = 0n; i < few; i++) found = (found * (n - i)) / (i + 1n);
  return found;
}

/** A uniform w-subset of the codes that contains the code with probability `keep`; with w = 1 an index. */
export class Subset extends Channel {
  readonly own: Fraction;
  readonly other: Fraction;

  constructor(
    readonly k: bigint,
    readonly w: bigint,
    readonly keep: bigint,
  ) {
    ranged(w, 1n, k - 1n, "w");
    const single = w === 1n;
    if (!single) ranged(k, 2n, 1n << 20n, "k");
    super(k, 1 + Number(w), single ? k : null, single ? bitLength(k - 1n) : Number(k));
    this.own = units(keep);
    this.other = Fraction.of(w).minus(this.own).over(Fraction.of(k - 1n));
    informative(this.own, this.other, "keep");
  }

  sample(code: bigint, coins: Coins): bigint {
    const kept = coins.flip(this.keep);
    if (this.w === 1n) {
      const other = skip(coins.below(kept ? 1n : this.k - 1n), code);
      return kept ? code : other;
    }
    // Floyd's algorithm. Where the code is kept one element fewer is wanted, and the last draw is thrown away.
    const chosen = new Set<bigint>();
    const unused = new Set<bigint>();
    (kept ? chosen : unused).add(code);
    const wanted = this.w - BigInt(kept);
    for (let drawn = 0n; drawn < this.w; drawn++) {
      const needed = drawn < wanted;
      const bound = this.k - 1n - wanted + drawn;
      const place = skip(coins.below(needed ? bound + 1n : 1n), code);
      const instead = skip(bound, code);
      (needed ? chosen : unused).add(chosen.has(place) ? instead : place);
    }
    let report = 0n;
    for (const place of chosen) report |= 1n << place;
    return report;
  }

  override contains(report: bigint): boolean {
    return super.contains(report) && (this.w === 1n || bitCount(report) === Number(this.w));
  }

  supports(report: bigint, code: bigint): boolean {
    return this.w === 1n ? report === code : ((report >> code) & 1n) === 1n;
  }

  ratio(): Fraction {
    return Fraction.of(this.keep * (this.k - this.w), (UNIT - this.keep) * this.w);
  }

  likelihood(report: bigint, code: bigint): Fraction {
    return this.supports(report, code)
      ? Fraction.of(this.keep, UNIT * choose(this.k - 1n, this.w - 1n))
      : Fraction.of(UNIT - this.keep, UNIT * choose(this.k - 1n, this.w));
  }

  override extremes(): Extremes {
    if (this.w !== 1n) return super.extremes();
    spend(Number(this.k) >> 6);
    return [Array(Number(this.k)).fill(this.own), Array(Number(this.k)).fill(this.other)];
  }
}

/** Any finite channel: report y with probability rows[code][y] / 2**53. */
export class Table extends Channel {
  private cumulative: bigint[][] | null = null;

  constructor(readonly rows: bigint[][]) {
    const width = rows[0]?.length ?? 0;
    valid(width >= 2 && rows.every((row) => row.length === width && sum(row) === UNIT), "rows");
    super(BigInt(rows.length), 1, BigInt(width));
  }

  sample(code: bigint, coins: Coins): bigint {
    this.cumulative ??= this.rows.map(running);
    return BigInt(coins.pick(this.cumulative[Number(code)]!));
  }

  override contains(report: bigint): boolean {
    return super.contains(report) && this.rows.some((row) => row[Number(report)]);
  }

  /** The largest and the smallest weight of each output. */
  private range(): [bigint, bigint][] {
    spend((this.rows.length * this.rows[0]!.length) >> 5);
    return this.rows[0]!.map((_, y) => {
      let [most, least] = [0n, UNIT];
      for (const row of this.rows) {
        if (row[y]! > most) most = row[y]!;
        if (row[y]! < least) least = row[y]!;
      }
      return [most, least];
    });
  }

  ratio(): Fraction {
    let worst = ONE;
    for (const [most, least] of this.range()) if (most) worst = larger(worst, least ? Fraction.of(most, least) : infinite());
    return worst;
  }

  /** Whether each output is reported by some code with probability 1. */
  reachesEveryOutput(): boolean {
    return this.range().every(([most]) => most === UNIT);
  }

  likelihood(report: bigint, code: bigint): Fraction {
    return units(this.rows[Number(code)]![Number(report)]!);
  }

  override extremes(): Extremes {
    const range = this.range();
    return [range.map(([most]) => units(most)), range.map(([, least]) => units(least))];
  }
}

define(NODES, "subset", Subset, { k: integer(2n, 1n << 32n), w: integer(), keep: unit });
define(NODES, "table", Table, { rows: listOf(weights) });

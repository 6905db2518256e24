/** `subset` and `table`: channels of finitely many codes with short closed forms. */
import { bitCount, bitLength, low, running, sum, UNIT } from "../core/bytes";
import type { Coins } from "../core/coins";
import { need } from "../core/errors";
import { Fraction, ONE, spend, units } from "../core/fraction";
import { integer, integers, list, take, type Spec } from "../core/json";
import { Channel, infinite, informative, NODES, Numbered, unit } from "./channel";

function skip(index: bigint, code: bigint): bigint {
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
  readonly kind = "subset";
  readonly own: Fraction;
  readonly other: Fraction;

  constructor(
    readonly k: bigint,
    readonly w: bigint,
    readonly keep: bigint,
  ) {
    super();
    this.own = units(keep);
    this.other = Fraction.of(w).minus(this.own).over(Fraction.of(k - 1n));
    informative(this.kind, this.own, this.other);
  }

  get inputs(): bigint {
    return this.k;
  }
  get words(): number {
    return 1 + Number(this.w);
  }
  override get outputs(): bigint | null {
    return this.w === 1n ? this.k : null;
  }
  get payloadBits(): number {
    return this.w === 1n ? bitLength(this.k - 1n) : Number(this.k);
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

  contains(report: bigint): boolean {
    if (this.w === 1n) return report >= 0n && report < this.k;
    return report >= 0n && report <= low(Number(this.k)) && bitCount(report) === Number(this.w);
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

  override extremes(): [Fraction[], Fraction[]] {
    if (this.w !== 1n) return super.extremes();
    spend(Number(this.k) >> 6);
    return [Array(Number(this.k)).fill(this.own), Array(Number(this.k)).fill(this.other)];
  }

  static read(fields: Spec): Subset {
    const [k, w, keep] = take(fields, "subset", "k", "w", "keep");
    const codes = integer(k, "subset", "k", 2n, 1n << 32n);
    const wide = integer(w, "subset", "w", 1n, codes - 1n);
    if (wide > 1n) integer(k, "subset", "k", 2n, 1n << 20n);
    return new Subset(codes, wide, unit(keep, "subset", "keep"));
  }
}

/** Any finite channel: report y with probability rows[code][y] / 2**53. */
export class Table extends Numbered {
  readonly kind = "table";
  private readonly cumulative = new Map<bigint, bigint[]>();

  constructor(readonly rows: bigint[][]) {
    super();
    const width = rows[0]?.length ?? 0;
    need(
      width >= 2 && rows.every((row) => row.length === width && sum(row) === UNIT),
      "The rows of a table must be equally long lists of weights, each summing to 2**53.",
    );
  }

  get inputs(): bigint {
    return BigInt(this.rows.length);
  }
  get outputs(): bigint {
    return BigInt(this.rows[0]!.length);
  }
  get words(): number {
    return 1;
  }

  sample(code: bigint, coins: Coins): bigint {
    if (!this.cumulative.size) this.rows.forEach((row, place) => this.cumulative.set(BigInt(place), running(row)));
    return BigInt(coins.pick(this.cumulative.get(code)!));
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
    for (const [most, least] of this.range()) {
      if (!most) continue;
      if (!least) infinite();
      const found = Fraction.of(most, least);
      if (found.compare(worst) > 0) worst = found;
    }
    return worst;
  }

  /** Whether each output is reported by some code with probability 1. */
  reachesEveryOutput(): boolean {
    return this.range().every(([most]) => most === UNIT);
  }

  likelihood(report: bigint, code: bigint): Fraction {
    return units(this.rows[Number(code)]![Number(report)]!);
  }

  override extremes(): [Fraction[], Fraction[]] {
    const range = this.range();
    return [range.map(([most]) => units(most)), range.map(([, least]) => units(least))];
  }

  static read(fields: Spec): Table {
    const [rows] = take(fields, "table", "rows");
    return new Table(list(rows, "table", "rows").map((row) => integers(row, "table", "rows", 0n, UNIT)));
  }
}

Object.assign(NODES, { subset: Subset.read, table: Table.read });

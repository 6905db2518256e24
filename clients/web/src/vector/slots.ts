/** What channels for sparse vectors share. */
import { Channel, type Code } from "../channel/channel";
import { PLACES, Rounding } from "../channel/numeric";
import { FINE } from "../core/bytes";
import type { Coins } from "../core/coins";
import { decimalText } from "../core/decimal";
import { refuse } from "../core/errors";
import { Fraction, ZERO } from "../core/fraction";
import { canonical } from "../core/json";
import { exactNumber } from "../domain/domain";
import { LONG, Sparse, type Entry } from "./domains";

export const MOST_SLOTS = 48;

/** How many vectors there are whose numbers are zero or at an end. */
function corners(size: number, most: number): bigint {
  let [all, filled] = [1n, 1n];
  for (let held = 0; held < most; held++) {
    filled = (2n * filled * BigInt(size - held)) / BigInt(held + 1);
    all += filled;
  }
  return all;
}

export abstract class Slots extends Channel {
  readonly grid: Rounding;
  private readonly filler: Fraction;
  constructor(
    readonly size: number,
    readonly most: number,
    readonly bound: Fraction,
    words: number,
    outputs: bigint | null,
    payloadBits?: number,
  ) {
    new Sparse(size, most, bound); // refuses what is no domain
    super(corners(size, most), words, outputs, payloadBits);
    this.grid = new Rounding(ZERO.minus(bound), bound, 1n);
    this.filler = exactNumber((LONG * Number(bound.n)) / Number(bound.d)) ?? ZERO;
    this.dimensions = size;
    this.sparse = canonical({ kind: "sparse", dimensions: BigInt(size), most: BigInt(most), bound: decimalText(bound) });
    this.codesAreIndices = false;
  }
  /** As many entries as there are slots; an empty slot holds a number beyond the last place. */
  protected padded(code: Entry[]): Entry[] {
    return [...code, ...Array(this.most - code.length).fill([BigInt(this.size), this.filler])];
  }
  /** Whether a number is rounded to the upper end. */
  protected rises(one: Fraction, coins: Coins): boolean {
    return coins.flip(this.grid.position(one) << BigInt(FINE - PLACES));
  }
  likelihood(_report: bigint, _code: Code): Fraction {
    return refuse("This channel is too large for a browser.");
  }
}

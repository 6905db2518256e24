/** `place`: one random entry of a sparse vector, and the sets of places with a sign. */
import { NODES, type Channel } from "../channel/channel";
import { Subset } from "../channel/finite";
import { PLACES } from "../channel/numeric";
import { Block, HADAMARD, HadamardSets, SETS, type Sets } from "../channel/sets";
import { ceilDiv } from "../core/bytes";
import type { Coins } from "../core/coins";
import { infinite } from "../core/errors";
import { Fraction, ZERO } from "../core/fraction";
import { define, integer } from "../core/read";
import { SPARSE, type Entry } from "./domains";
import { Slots } from "./slots";

/** One random entry of a sparse vector, as its place and a sign; the first stage of a report. */
class Place extends Slots {
  constructor(size: number, most: number, bound: Fraction) {
    super(size, most, bound, 2, BigInt(2 * size));
  }
  sample(code: Entry[], coins: Coins): bigint {
    const slots = this.padded(code);
    const slot = Number(coins.below(BigInt(this.most)));
    const filled = slot < code.length;
    const [place, one] = slots[slot]!;
    const signs = BigInt(2 * (this.size - code.length) || 1);
    const drawn = coins.either<bigint>(
      filled,
      (source) => BigInt(this.rises(one, source)),
      (source) => source.below(signs),
    );
    let empty = drawn / 2n;
    for (const [held] of slots) empty += BigInt(empty >= held);
    return filled ? 2n * place + BigInt(!drawn) : 2n * empty + (drawn % 2n);
  }
  ratio(): Fraction {
    return infinite();
  }
  /** The vectors whose numbers are zero or at an end. */
  override *codes(): Iterable<Entry[]> {
    const { bound } = this;
    const longer = (code: Entry[], from: number): Entry[][] => {
      const found = [code];
      if (code.length < this.most)
        for (let place = from; place < this.size; place++)
          for (const end of [bound, ZERO.minus(bound)]) found.push(...longer([...code, [BigInt(place), end]], place + 1));
      return found;
    };
    yield* longer([], 0);
  }
  override likelihood(report: bigint, code: Entry[]): Fraction {
    const most = BigInt(this.most);
    for (const [held, one] of code)
      if (held === report / 2n) {
        const plus = Fraction.of(this.grid.position(one), (1n << BigInt(PLACES)) * most);
        return report % 2n ? Fraction.of(1n, most).minus(plus) : plus;
      }
    const empty = this.most - code.length;
    return empty ? Fraction.of(BigInt(empty), 2n * most * BigInt(this.size - code.length)) : ZERO;
  }
  /** The ratio of this and a second stage; null if no closed form is known. */
  ratioBefore(second: Channel): Fraction | null {
    let together: bigint | null = null;
    if (second instanceof Block) together = second.sets.together ?? null;
    else if (second instanceof Subset && second.w <= BigInt(this.size)) together = second.w;
    if (this.most !== 1 && together === null) return null;
    const most = BigInt(this.most);
    const hit = this.most === 1 || together! < 1n ? 1n : together! < most ? together! : most;
    return Fraction.of(hit).times(second.ratio()).plus(Fraction.of(most - hit)).over(Fraction.of(most));
  }
}

/** Places with a sign as halves of a Hadamard row. */
class SignedSets implements Sets {
  readonly codes: bigint;
  readonly outputs: bigint;
  readonly size: bigint;
  readonly together: bigint;
  private readonly rows: HadamardSets;
  constructor(
    dimensions: bigint,
    readonly order: bigint,
    readonly groups: bigint,
  ) {
    this.rows = new HadamardSets(dimensions, order, groups);
    this.codes = 2n * dimensions;
    this.outputs = order * groups;
    this.size = order / 2n;
    this.together = ceilDiv(dimensions, groups);
  }
  member(code: bigint, output: bigint): boolean {
    const place = code / 2n;
    return output / this.order === place % this.groups && this.rows.member(place, output) !== (code % 2n === 1n);
  }
  output(code: bigint, index: bigint, inside: boolean): bigint {
    const place = code / 2n;
    const found = this.rows.output(place, index, inside);
    const row = place / this.groups + 1n;
    const turned = found / this.order === place % this.groups ? code % 2n : 0n;
    return found ^ ((row & -row) * turned);
  }
}

define(NODES, "place", Place, SPARSE);
define(SETS, "signed", SignedSets, { dimensions: integer(), ...HADAMARD });

/** `signs`. */
import { informative, NODES, unit } from "../channel/channel";
import { choose } from "../channel/finite";
import { low, UNIT } from "../core/bytes";
import { flipsSpan, type Coins } from "../core/coins";
import { Fraction, units } from "../core/fraction";
import { count, define, valid } from "../core/read";
import { SPARSE, type Entry } from "./domains";
import { MOST_SLOTS, Slots } from "./slots";

const HALF = UNIT / 2n;

/** A sign for every place, fair where there is no entry, and agreeing with the entries more often than by chance. */
class Signs extends Slots {
  private many: bigint;
  private readonly few: bigint;
  constructor(
    size: number,
    most: number,
    bound: Fraction,
    readonly least: number,
    readonly inside: bigint,
  ) {
    super(size, most, bound, 2 + most + flipsSpan(size, HALF), null, size);
    valid(most <= MOST_SLOTS, "most");
    valid(least <= most, "least");
    this.many = 0n;
    for (let held = least; held <= most; held++) this.many += choose(BigInt(most), BigInt(held));
    this.few = (1n << BigInt(most)) - this.many;
    informative(units(inside), Fraction.of(this.many, this.many + this.few));
  }
  sample(code: Entry[], coins: Coins): bigint {
    const slots = this.padded(code);
    const inside = coins.flip(this.inside);
    const index = coins.below(inside ? this.many : this.few);
    const agreeing = pattern(index, inside ? this.least : 0, this.most);
    let [held, flipped] = [0n, 0n];
    slots.forEach(([place, one], slot) => {
      const plus = coins.when(slot < code.length, (source) => this.rises(one, source));
      held |= 1n << place;
      flipped |= BigInt(BigInt(plus) === ((agreeing >> BigInt(slot)) & 1n)) << place;
    });
    return ((coins.flips(this.size, HALF) & ~held) | flipped) & low(this.size);
  }
  ratio(): Fraction {
    return Fraction.of(this.inside * this.few, this.many * (UNIT - this.inside));
  }
}

/** The index-th subset of slots as a mask: smaller subsets first, from `least` elements on. */
function pattern(index: bigint, least: number, most: number): bigint {
  let size = least;
  for (let step = 0; step < most; step++) {
    const count = choose(BigInt(most), BigInt(size));
    const passed = index >= count && size <= most;
    if (passed) index -= count;
    size += Number(passed);
  }
  let mask = 0n;
  for (let slot = most - 1; slot >= 0; slot--) {
    const without = choose(BigInt(slot), BigInt(size));
    const held = index >= without;
    if (held) index -= without;
    mask |= BigInt(held) << BigInt(slot);
    size -= Number(held);
  }
  return mask;
}

define(NODES, "signs", Signs, { ...SPARSE, least: count(1n, BigInt(MOST_SLOTS)), inside: unit });

/** `hints`. */
import { informative, NODES } from "../channel/channel";
import { low, running, sum, UNIT } from "../core/bytes";
import { flipsSpan, type Coins } from "../core/coins";
import { Fraction, largest, ONE, smallest, total, units, ZERO } from "../core/fraction";
import { define, integer, listOf, valid } from "../core/read";
import { SPARSE, type Entry } from "./domains";
import { MOST_SLOTS, Slots } from "./slots";

const HALF = UNIT / 2n;
const TRIES = 4; // draws of a slot that must not agree, for which the span has room
const [AGREES, DISAGREES, SILENT] = [0, 1, 2];

/** Signs of a few places; some sign agrees with an entry more often than by chance. */
class Hints extends Slots {
  private readonly chances: bigint[];
  private readonly begin: bigint[];
  private readonly width: number;
  constructor(
    size: number,
    most: number,
    bound: Fraction,
    readonly speak: bigint,
    readonly firsts: bigint[],
  ) {
    const width = Math.ceil(size / 64) * 64;
    const words = 2 + (TRIES + 1) * most + flipsSpan(size, 2n * speak) + flipsSpan(size, HALF);
    super(size, most, bound, words, null, width + size);
    valid(most <= MOST_SLOTS, "most");
    valid(firsts.length === most && sum(firsts) < UNIT, "firsts");
    this.width = width;
    this.chances = [speak, 2n * speak, UNIT];
    this.begin = [...running(firsts), UNIT];
    informative(this.slope(), ZERO, "firsts");
  }
  private shares(): Fraction[] {
    return [...this.firsts, UNIT - sum(this.firsts)].map(units);
  }
  private slope(): Fraction {
    const one = units(this.speak);
    const shares = this.shares();
    const before = total(shares.map((share, slot) => Fraction.of(BigInt(slot)).times(share)));
    return total(shares.slice(0, -1)).minus(one.over(ONE.minus(one)).times(before));
  }
  override contains(report: bigint): boolean {
    if (report < 0n) return false;
    const [plus, minus] = [report & low(this.width), report >> BigInt(this.width)];
    return plus <= low(this.size) && minus <= low(this.size) && !(plus & minus);
  }
  sample(code: Entry[], coins: Coins): bigint {
    const slots = this.padded(code);
    const turn = Number(coins.below(BigInt(this.most)));
    const first = coins.pick(this.begin);
    const drawn = slots.map((_, slot) =>
      coins.when((slot - turn + this.most) % this.most < code.length, (source) => this.state(slot, first, source)),
    );
    let held = 0n;
    const said: [bigint, bigint] = [0n, 0n];
    slots.forEach(([place, one], entry) => {
      const state = drawn[(entry + turn) % this.most]!;
      const plus = coins.when(entry < code.length, (source) => this.rises(one, source));
      held |= 1n << place;
      said[Number(plus === (state === DISAGREES))]! |= BigInt(state !== SILENT) << place;
    });
    const speaking = coins.flips(this.size, 2n * this.speak) & ~held;
    const signs = coins.flips(this.size, HALF);
    const plus = ((speaking & signs) | said[0]) & low(this.size);
    const minus = ((speaking & ~signs) | said[1]) & low(this.size);
    return plus | (minus << BigInt(this.width));
  }
  private state(slot: number, first: number, coins: Coins): number {
    const chance = (source: Coins): number => source.pick(this.chances);
    const other = (source: Coins): number =>
      source.either(slot < first, (inner) => inner.until(chance, (state) => state !== AGREES, TRIES), chance);
    const state = coins.when(slot !== first, other);
    return slot === first ? AGREES! : state;
  }
  ratio(): Fraction {
    const one = units(this.speak);
    const silent = ONE.minus(one);
    const shares = this.shares();
    const gained = [ZERO];
    this.firsts.forEach((_, slot) => gained.push(gained[slot]!.plus(shares[slot]!.over(one.times(silent.power(slot))))));
    const best = [ZERO];
    const worst = [ZERO];
    for (let length = 1; length <= this.most; length++) {
      const gaps = (known: Fraction[]): Fraction[] => Array.from({ length }, (_, i) => gained[i + 1]!.plus(known[length - i - 1]!));
      const [more, less] = [gaps(best), gaps(worst)];
      best.push(largest(more));
      worst.push(smallest(less));
    }
    const slots = Fraction.of(BigInt(this.most));
    const nowhere = shares[this.most]!.over(silent.power(this.most));
    const ends = [nowhere, best[this.most]!.over(slots), worst[this.most]!.over(slots)];
    return largest(ends).over(smallest(ends));
  }
}

define(NODES, "hints", Hints, { ...SPARSE, speak: integer(1n, HALF - 1n), firsts: listOf(integer(1n, UNIT - 1n)) });

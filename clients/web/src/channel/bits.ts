/** `bits`: independent bits, 1 with probability p where the code's encoding has a 1, else with q. */
import { bitCount, low, UNIT } from "../core/bytes";
import { flipsSpan, type Coins } from "../core/coins";
import { infinite, need, refuse } from "../core/errors";
import { Fraction, larger, largest, ONE, units } from "../core/fraction";
import { count, define, integer, listOf, text, valid, type Reader } from "../core/read";
import { Channel, informative, NODES, unit } from "./channel";

const MOST_BLOCKS = 20;
type Rate = bigint | bigint[];

function inputs(k: number, encoding: string, ones: number): bigint {
  if (encoding === "mask") return 1n << BigInt(k);
  if (encoding === "blocks") return BigInt(Math.floor(k / ones)) ** BigInt(ones);
  return BigInt(encoding === "signed" ? 2 * k : k + Number(encoding === "optional"));
}

export class Bits extends Channel {
  /** Whether positions have probabilities of their own. */
  readonly vary: boolean;
  private readonly length: number;
  private readonly ownWords: number;
  /** The mask of bits that only their own code sets. */
  private shown = 0n;

  constructor(
    readonly k: number,
    readonly p: Rate,
    readonly q: Rate,
    readonly encoding: string,
    readonly ones: number,
  ) {
    const [mask, blocks, signed] = ["mask", "blocks", "signed"].map((one) => one === encoding);
    const vary = Array.isArray(p) || Array.isArray(q);
    const length = ones ? Math.floor(k / ones) : 0;
    valid(mask || blocks || signed || ["onehot", "optional"].includes(encoding), "encoding");
    valid(k >= (encoding === "onehot" ? 2 : 1) && (!mask || k <= (vary ? 64 : 1 << 12)), "k");
    valid(
      blocks
        ? ones >= 2 && ones <= MOST_BLOCKS && k % ones === 0 && length >= 2 && length ** ones <= 1 << MOST_BLOCKS
        : mask ? ones <= k : ones === 1,
      "ones",
    );
    valid(!vary || !(blocks || signed), "p");
    valid(!signed || q === UNIT / 2n, "q");
    for (const rate of [p, q]) valid(!Array.isArray(rate) || rate.length === k, "p");
    for (let place = 0; place < (vary ? k : 1); place++) {
      valid(at(q, place) > 0n || (Array.isArray(q) && encoding === "onehot"), "q");
      informative(units(at(p, place)), units(at(q, place)), "p");
    }
    const ownWords = mask || blocks ? ones || k : 1;
    super(inputs(k, encoding, ones), (Array.isArray(q) ? k : flipsSpan(k, q)) + ownWords, null, k);
    this.vary = vary;
    this.length = length;
    this.ownWords = ownWords;
    this.codesAreIndices = !mask || !ones;
    if (Array.isArray(q)) q.forEach((one, place) => (this.shown |= BigInt(!one) << BigInt(place)));
  }

  override *codes(): Iterable<bigint> {
    for (const code of super.codes() as Iterable<bigint>)
      if (this.codesAreIndices || bitCount(code) === this.ones) yield code;
  }

  /** The positions where the encoding of a code has a 1. */
  private mask(code: bigint): bigint {
    if (this.encoding === "mask") {
      need(code >= 0n && code <= low(this.k) && (!this.ones || bitCount(code) === this.ones), "Not a mask.", "domain");
      return code;
    }
    if (this.encoding === "blocks") {
      let mask = 0n;
      const length = BigInt(this.length);
      for (let block = 0; block < this.ones; block++) {
        mask |= 1n << (BigInt(block) * length + (code % length));
        code /= length;
      }
      return mask;
    }
    if (this.encoding === "signed") return 1n << (code >> 1n);
    return code < BigInt(this.k) ? 1n << code : 0n;
  }

  /** How likely a position of the mask of a code is 1, in units. */
  private own(place: number, code: bigint): bigint {
    if (this.encoding === "signed") return code & 1n ? UNIT - at(this.p, 0) : at(this.p, 0);
    return at(this.p, place % this.k);
  }

  sample(code: bigint, coins: Coins): bigint {
    const end = coins.position + this.words;
    const mask = this.mask(code);
    let report = 0n;
    if (Array.isArray(this.q))
      this.q.forEach((num, place) => (report |= BigInt(coins.flip(num)) << BigInt(place)));
    else report = coins.flips(this.k, this.q);
    report &= ~mask; // positions that hold a 1 are drawn apart, each from its own word
    let own = [Number(this.encoding === "signed" ? code >> 1n : code)];
    if (this.encoding === "mask" || this.encoding === "blocks") {
      own = places(mask);
      while (own.length < this.ownWords) own.push(this.k); // as many steps for every code
    }
    for (const place of own) {
      const num = this.own(place, code);
      report |= BigInt(coins.flip(place < this.k ? num : UNIT)) << BigInt(place);
    }
    coins.seek(end);
    return report & low(this.k);
  }

  override contains(report: bigint): boolean {
    return super.contains(report) && bitCount(report & this.shown) <= 1;
  }

  supports(report: bigint, code: bigint): boolean {
    if (this.encoding === "signed") return ((report >> (code >> 1n)) & 1n) !== (code & 1n);
    return ((report >> code) & 1n) === 1n;
  }

  ratio(): Fraction {
    if (this.shown) infinite();
    if (!this.vary) return this.evenRatio(units(at(this.p, 0)), units(at(this.q, 0)));
    const every = (rate: Rate): Fraction[] => Array.from({ length: this.k }, (_, place) => units(at(rate, place)));
    return bitsRatio(every(this.p), every(this.q), this.encoding, this.ones);
  }

  /** All positions are alike: only the numbers of rising and falling bits matter. */
  private evenRatio(p: Fraction, q: Fraction): Fraction {
    if (this.encoding === "signed") return p.over(ONE.minus(p));
    if (this.encoding === "blocks") return bitsRatio([p, p], [q, q], "blocks", this.ones);
    if (this.encoding !== "mask")
      return this.k < 2 ? bitsRatio([p], [q], this.encoding, 1) : bitsRatio([p, p], [q, q], this.encoding, 1);
    if (this.ones) return bitsRatio([p, p], [q, q], "onehot", 1).power(Math.min(this.ones, this.k - this.ones));
    return bitsRatio([p], [q], "mask", 0).power(this.k);
  }

  override guardedRatio(sensitive: readonly bigint[]): Fraction | null {
    if (this.encoding !== "onehot" && this.encoding !== "optional") return super.guardedRatio(sensitive);
    const shown = this.shown;
    if (!shown) return this.ratio();
    for (const code of sensitive) if ((shown >> code) & 1n) return null;
    const risen: Fraction[] = [];
    const fallen: Fraction[] = [];
    for (let place = 0; place < this.k; place++) {
      const [p, q] = [units(at(this.p, place)), units(at(this.q, place))];
      const clear = ONE.minus(p);
      const odds = q.n ? [p.over(q), clear.over(ONE.minus(q))] : [clear, clear];
      const [less, more] = odds[0]!.compare(odds[1]!) < 0 ? odds : [odds[1], odds[0]];
      risen.push(more!);
      fallen.push(ONE.over(less!));
    }
    return largest(distinctProducts(risen, fallen), ONE);
  }

  /** The rate at which a bit is set for a code. */
  rate(place: number, code: bigint): bigint {
    return (this.mask(code) >> BigInt(place)) & 1n ? this.own(place, code) : at(this.q, place);
  }

  likelihood(report: bigint, code: bigint): Fraction {
    let [n, d] = [1n, 1n];
    for (let place = 0; place < this.k; place++) {
      const one = this.rate(place, code);
      n *= (report >> BigInt(place)) & 1n ? one : UNIT - one;
      d *= UNIT;
    }
    return Fraction.of(n, d);
  }
}

export function at(rate: Rate, place: number): bigint {
  return Array.isArray(rate) ? rate[place]! : rate;
}

function places(mask: bigint): number[] {
  const found: number[] = [];
  for (let place = 0; mask; place++, mask >>= 1n) if (mask & 1n) found.push(place);
  return found;
}

/** The largest product over the bits in which two encodings differ. */
export function bitsRatio(p: Fraction[], q: Fraction[], encoding: string, ones: number): Fraction {
  const odds = (a: Fraction, b: Fraction): Fraction =>
    larger(a.over(b), ONE.minus(a).over(ONE.minus(b)));
  const risen = p.map((one, place) => odds(one, q[place]!));
  const fallen = p.map((one, place) => odds(q[place]!, one));
  if (encoding === "mask") return worstMasks(risen, fallen, ones);
  if (encoding === "blocks") return risen[0]!.times(fallen[0]!).power(ones);
  const pairs = distinctProducts(risen, fallen);
  const best = pairs.length ? largest(pairs) : ONE;
  return encoding === "optional" ? largest([...risen, ...fallen], best) : best;
}

/** The best partners at two different positions: the two best of each kind suffice. */
function distinctProducts(risen: Fraction[], fallen: Fraction[]): Fraction[] {
  const best = (values: Fraction[]): number[] => {
    const found: number[] = [];
    values.forEach((value, place) => {
      found.push(place);
      for (let i = found.length - 1; i && value.compare(values[found[i - 1]!]!) > 0; i--)
        [found[i - 1], found[i]] = [found[i]!, found[i - 1]!];
      found.length = Math.min(found.length, 2);
    });
    return found;
  };
  const downs = best(fallen);
  return best(risen).flatMap((i) => downs.flatMap((j) => (i === j ? [] : [risen[i]!.times(fallen[j]!)])));
}

/** Any number of ones: each bit at its worst. Exactly `ones`: the same number of bits must rise and fall. */
function worstMasks(risen: Fraction[], fallen: Fraction[], ones: number): Fraction {
  if (!ones) return risen.reduce((found, up, place) => found.times(larger(up, fallen[place]!)), ONE);
  const exchanged = Math.min(ones, risen.length - ones);
  const wide = exchanged + 1;
  let best: (Fraction | undefined)[] = [ONE];
  risen.forEach((up, place) => {
    const longer = best.slice();
    best.forEach((value, key) => {
      if (!value) return;
      for (const [u, d, gain] of [
        [Math.floor(key / wide) + 1, key % wide, up],
        [Math.floor(key / wide), (key % wide) + 1, fallen[place]!],
      ] as [number, number, Fraction][]) {
        if (Math.max(u, d) > exchanged) continue;
        const found = value.times(gain);
        const known = longer[u * wide + d];
        longer[u * wide + d] = known ? larger(found, known) : found;
      }
    });
    best = longer;
  });
  const even = Array.from({ length: wide }, (_, n) => best[n * wide + n]).filter((one) => one !== undefined);
  return largest(even, even[0] ?? refuse("These masks have no pair of codes."));
}

/** One probability, or one for each position. */
const rate = (least: bigint): Reader<Rate> => {
  const many = listOf(integer(least, UNIT - 1n));
  return (value) => (Array.isArray(value) ? many(value) : unit(value));
};
define(NODES, "bits", Bits, { k: count(1n, 1n << 24n), p: rate(1n), q: rate(0n), encoding: text, ones: count(0n, 1n << 24n) });

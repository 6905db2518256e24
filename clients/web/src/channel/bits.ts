/** `bits`: independent bits, 1 with probability p where the code's encoding has a 1, else with q. */
import { bitCount, low, UNIT } from "../core/bytes";
import { flipsSpan, type Coins } from "../core/coins";
import { need, refuse } from "../core/errors";
import { Fraction, largest, ONE, units } from "../core/fraction";
import { integer, integers, take, text, type Spec } from "../core/json";
import { Channel, infinite, informative, NODES, unit, UNIT_MOST } from "./channel";

const ENCODINGS = ["onehot", "optional", "mask", "blocks", "signed"];
const MOST_BLOCKS = 20;
type Rate = bigint | bigint[];

export class Bits extends Channel {
  readonly kind = "bits";
  readonly length: number;

  constructor(
    readonly k: number,
    readonly p: Rate,
    readonly q: Rate,
    readonly encoding: string,
    readonly ones: number,
  ) {
    super();
    const plain = encoding !== "mask" && encoding !== "blocks";
    need(ENCODINGS.includes(encoding), `The encoding of bits is one of ${ENCODINGS.join(", ")}.`);
    need(k >= (encoding === "onehot" ? 2 : 1), "Bits need more positions.");
    if (encoding === "mask") need(k <= (this.vary ? 64 : 1 << 12), "A mask of bits has too many positions.");
    this.length = ones ? Math.floor(k / ones) : 0;
    if (encoding === "blocks") {
      need(ones >= 2 && k % ones === 0 && k >= 2 * ones, "Blocks of bits must be two or more, of equal length.");
      need(ones <= MOST_BLOCKS && this.length ** ones <= 1 << MOST_BLOCKS, "Blocks of bits have too many codes.");
    }
    if (plain) need(ones === 1, `The 'ones' of bits must be 1 where the encoding is ${encoding}.`);
    if (encoding === "blocks" || encoding === "signed") need(!this.vary, "These bits need one probability each.");
    if (encoding === "signed") need(q === UNIT / 2n, "The 'q' of signed bits must be 2**52.");
    for (const rate of [p, q])
      if (Array.isArray(rate)) need(rate.length === k, "Bits have one probability, or one for each position.");
    for (let place = 0; place < (this.vary ? k : 1); place++)
      informative(this.kind, units(at(p, place)), units(at(q, place)));
  }

  get vary(): boolean {
    return Array.isArray(this.p) || Array.isArray(this.q);
  }
  get inputs(): bigint {
    if (this.encoding === "mask") return 1n << BigInt(this.k);
    if (this.encoding === "blocks") return BigInt(this.length) ** BigInt(this.ones);
    if (this.encoding === "signed") return BigInt(2 * this.k);
    return BigInt(this.k + Number(this.encoding === "optional"));
  }
  override get codesAreIndices(): boolean {
    return this.encoding !== "mask" || !this.ones;
  }
  override *codes(): Iterable<bigint> {
    for (const code of super.codes() as Iterable<bigint>)
      if (this.codesAreIndices || bitCount(code) === this.ones) yield code;
  }
  get payloadBits(): number {
    return this.k;
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

  private get ownWords(): number {
    return this.encoding === "mask" || this.encoding === "blocks" ? this.ones || this.k : 1;
  }
  get words(): number {
    return (Array.isArray(this.q) ? this.k : flipsSpan(this.k, this.q)) + this.ownWords;
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

  /** The mask of bits that only their own code sets. */
  private get shown(): bigint {
    let mask = 0n;
    if (Array.isArray(this.q)) this.q.forEach((q, place) => (mask |= BigInt(!q) << BigInt(place)));
    return mask;
  }

  contains(report: bigint): boolean {
    return report >= 0n && report <= low(this.k) && bitCount(report & this.shown) <= 1;
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

  override guardedRatio(sensitive: ReadonlySet<bigint>): Fraction | null {
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

  likelihood(report: bigint, code: bigint): Fraction {
    const mask = this.mask(code);
    let [n, d] = [1n, 1n];
    for (let place = 0; place < this.k; place++) {
      const one = (mask >> BigInt(place)) & 1n ? this.own(place, code) : at(this.q, place);
      n *= (report >> BigInt(place)) & 1n ? one : UNIT - one;
      d *= UNIT;
    }
    return Fraction.of(n, d);
  }

  static read(fields: Spec): Bits {
    const [k, p, q, encoding, ones] = take(fields, "bits", "k", "p", "q", "encoding", "ones");
    const size = integer(k, "bits", "k", 1n, 1n << 24n);
    const shown = encoding === "onehot" ? 0n : 1n;
    const up = Array.isArray(p) ? integers(p, "bits", "p", 1n, UNIT_MOST) : unit(p, "bits", "p");
    const down = Array.isArray(q) ? integers(q, "bits", "q", shown, UNIT_MOST) : unit(q, "bits", "q");
    const set = Number(integer(ones, "bits", "ones", 0n, size));
    return new Bits(Number(size), up, down, text(encoding, "bits", "encoding"), set);
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
    largest([ONE.minus(a).over(ONE.minus(b))], a.over(b));
  const risen = p.map((one, place) => odds(one, q[place]!));
  const fallen = p.map((one, place) => odds(q[place]!, one));
  if (encoding === "mask") return worstMasks(risen, fallen, ones);
  if (encoding === "blocks") return risen[0]!.times(fallen[0]!).power(ones);
  const pairs = distinctProducts(risen, fallen);
  let best = pairs.length ? largest(pairs, pairs[0]!) : ONE;
  if (encoding === "optional") best = largest([...risen, ...fallen], best);
  return best;
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
  if (!ones) return risen.reduce((found, up, place) => found.times(largest([fallen[place]!], up)), ONE);
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
        longer[u * wide + d] = known && known.compare(found) > 0 ? known : found;
      }
    });
    best = longer;
  });
  const even = Array.from({ length: wide }, (_, n) => best[n * wide + n]).filter((one) => one !== undefined);
  return largest(even, even[0] ?? refuse("These masks have no pair of codes."));
}

NODES.bits = Bits.read;

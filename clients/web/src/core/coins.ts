/**
 * The only source of randomness. Everything is defined on 64-bit words, exactly as in the Python package: a channel
 * owns a span of words, which it reads in order; what a rejected draw needs beyond its own word comes from an overflow
 * range. Samplers draw everything and then select, so that they do the same work for every answer.
 */
import { FINE, fromBytes, low, toBytes, UNIT } from "./bytes";

const LEVELS = 8; // bit-sliced comparisons before the few undecided lanes get a word each
const REST = FINE - LEVELS;

/** How many leading bits of `num` the bit-sliced comparison reads: none for a sure event. */
function flipLevels(num: bigint): number {
  if (num === 0n || num === UNIT) return 0;
  let zeros = 0;
  while (!((num >> BigInt(zeros)) & 1n)) zeros++;
  return Math.min(LEVELS, FINE - zeros);
}

function undecidedRemain(num: bigint): boolean {
  return flipLevels(num) === LEVELS && (num & low(REST)) !== 0n;
}

/** Words that `flips` owns: the levels, then a reserve of one word for each lane still undecided. */
export function flipsSpan(lanes: number, num: bigint): number {
  const root = Math.floor(Math.sqrt(lanes * 2 ** LEVELS));
  const reserve = undecidedRemain(num) ? Math.floor((lanes + 7 * root) / 2 ** LEVELS) + 5 : 0;
  return flipLevels(num) * Math.ceil(lanes / 64) + reserve;
}

export abstract class Coins {
  protected raw: Uint8Array = new Uint8Array(0);
  protected at = 0;
  protected idle = false;

  /** `bits` is the number of leading bits of a word that a coin reads: always 53, except in tests. */
  constructor(readonly bits: number = FINE) {}

  protected abstract load(words: number): Uint8Array;
  /** The next word of the overflow range of this report. */
  abstract extra(): bigint;

  /** Load the span of one report. */
  begin(words: number): void {
    this.raw = this.load(words);
    this.at = 0;
  }

  get position(): number {
    return this.at / 8;
  }

  seek(position: number): void {
    if (8 * position < this.at) throw new RangeError("backwards");
    this.at = 8 * position;
  }

  word(): bigint {
    return this.take(1);
  }

  protected take(words: number): bigint {
    const end = this.at + 8 * words;
    if (end > this.raw.length) throw new RangeError("too many words");
    const value = fromBytes(this.raw.subarray(this.at, end));
    this.at = end;
    return value;
  }

  private fine(): bigint {
    return (this.word() >> BigInt(64 - this.bits)) << BigInt(FINE - this.bits);
  }

  /** True with probability num / 2**53. */
  flip(num: bigint): boolean {
    return this.fine() < num;
  }

  /** Index i with probability (cumulative[i] - cumulative[i-1]) / 2**53; the last entry is 2**53. */
  pick(cumulative: readonly bigint[]): number {
    const drawn = this.fine();
    let [from, to] = [0, cumulative.length];
    while (from < to) {
      const middle = (from + to) >> 1;
      if (drawn < cumulative[middle]!) to = middle;
      else from = middle + 1;
    }
    return from;
  }

  /** A uniform integer in [0, n). */
  below(n: bigint): bigint {
    const shift = BigInt(64 - this.bits);
    const size = 1n << BigInt(this.bits);
    if (n <= 0n || n > size) throw new RangeError("outcomes");
    const limit = size - (size % n);
    let draw = this.word() >> shift;
    while (draw >= limit) draw = this.further() >> shift;
    return draw % n;
  }

  /** A word of the overflow range. A draw that does not count takes none, so that it shifts no other. */
  further(): bigint {
    return this.idle ? this.spare() : this.extra();
  }

  protected spare(): bigint {
    return 0n;
  }

  protected acceptsAny(): boolean {
    return this.idle;
  }

  protected pass(end: number): void {
    while (this.position < end) this.word();
  }

  /** Independent flips side by side: bit j of the result is true with probability num / 2**53. */
  flips(lanes: number, num: bigint): bigint {
    const end = this.position + flipsSpan(lanes, num);
    const everyone = low(lanes);
    if (num === UNIT) return everyone;
    const blocks = Math.ceil(lanes / 64);
    let result = 0n;
    let undecided = everyone;
    for (let level = 0; level < flipLevels(num); level++) {
      const drawn = this.take(blocks);
      if ((num >> BigInt(FINE - 1 - level)) & 1n) {
        result |= undecided & ~drawn;
        undecided &= drawn;
      } else undecided &= ~drawn;
    }
    if (undecidedRemain(num)) result = this.decided(result, undecided, blocks, num, end);
    this.seek(end);
    return result;
  }

  /** A word for each undecided lane, in rising order; the words of the reserve that are left over are read as well. */
  private decided(result: bigint, undecided: bigint, blocks: number, num: bigint, end: number): bigint {
    const rest = num & low(REST);
    const decided = toBytes(result, 8 * blocks);
    toBytes(undecided, 8 * blocks).forEach((mask, place) => {
      for (let left = mask; left; left &= left - 1) {
        const lane = left & -left;
        const drawn = this.position < end ? this.word() : this.further();
        decided[place]! |= lane * Number(drawn >> BigInt(64 - REST) < rest);
      }
    });
    this.pass(end);
    return fromBytes(decided);
  }

  /** The first accepted of some draws, all of which are made; further ones read the overflow range. */
  until<T>(draw: (coins: Coins) => T, accept: (value: T) => boolean, tries = 1): T {
    const drawn: T[] = [];
    for (let i = 0; i < tries; i++) drawn.push(draw(this));
    let accepted = drawn.filter(accept);
    while (!accepted.length) {
      const value = draw(new Overflow(this));
      accepted = accept(value) || this.acceptsAny() ? [value] : [];
    }
    return accepted[0]!;
  }

  /** A draw that is always made; its result is meaningful only if it counts. */
  when<T>(counts: boolean, draw: (coins: Coins) => T): T {
    const before = this.idle;
    this.idle = before || !counts;
    const value = draw(this);
    this.idle = before;
    return value;
  }

  /** One of two draws that read the same words: both are made, and one of them counts. */
  either<T>(first: boolean, one: (coins: Coins) => T, other: (coins: Coins) => T): T {
    const start = this.at;
    const given = this.when(first, one);
    const end = this.at;
    this.at = start;
    const instead = this.when(!first, other);
    this.at = Math.max(end, this.at);
    return first ? given : instead;
  }
}

/** The overflow range of other coins, read as if it were a span. */
class Overflow extends Coins {
  constructor(private readonly source: Coins) {
    super(source.bits);
  }

  protected load(): Uint8Array {
    throw new TypeError("read word by word");
  }

  protected override take(words: number): bigint {
    let value = 0n;
    for (let place = 0; place < words; place++) value |= this.source.further() << BigInt(64 * place);
    this.at += 8 * words;
    return value;
  }

  protected override pass(): void {}

  extra(): bigint {
    return this.source.further();
  }
}

/** Bytes from the browser's generator, which gives at most 65,536 at once. */
export function randomBytes(length: number): Uint8Array {
  const bytes = new Uint8Array(length);
  for (let at = 0; at < length; at += 65536) crypto.getRandomValues(bytes.subarray(at, at + 65536));
  return bytes;
}

/** Words from the browser's generator. */
export class SystemCoins extends Coins {
  protected load(words: number): Uint8Array {
    return randomBytes(8 * words);
  }

  extra(): bigint {
    return fromBytes(randomBytes(8));
  }

  // Such words have no order to preserve: draws that do not count read them like any other.
  protected override spare(): bigint {
    return this.extra();
  }

  protected override acceptsAny(): boolean {
    return false;
  }
}

/**
 * Words that are drawn once and then kept, so that the same answer gives the same report again: a participant who looks
 * at a report before sending it cannot draw until one pleases.
 */
export class KeptCoins extends Coins {
  /** The first spans may be known, such as those that a secret of the device decides. */
  constructor(private readonly spans: Uint8Array[] = []) {
    super();
  }
  private readonly extras: bigint[] = [];
  private span = 0;
  private next = 0;

  /** Start again from the first word. */
  rewind(): this {
    this.span = this.next = 0;
    return this;
  }

  protected load(words: number): Uint8Array {
    const place = this.span++;
    const kept = this.spans[place];
    if (kept?.length !== 8 * words) this.spans[place] = randomBytes(8 * words);
    return this.spans[place]!;
  }

  extra(): bigint {
    return (this.extras[this.next++] ??= fromBytes(randomBytes(8)));
  }
}

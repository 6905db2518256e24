/** Public maps: functions of a report's id and a code. */
import { FINE, least, mod } from "../core/bytes";
import { dot, hashValue, isOrder, isPrime, MOST_ORDER, polynomial, rowWords } from "../core/field";
import { Fraction, ONE } from "../core/fraction";
import { define, integer, ranged, valid, type Kinds } from "../core/read";
import type { Words } from "./channel";

const MOST_BLOCKS = 20n;
const MOST_FUNCTIONS = 1n << 24n;

/** One of some numbers, read from the leading bits of the first public word; some words are not accepted. */
export class Choice {
  readonly tries: Fraction;
  private readonly read: number;
  private readonly limit: bigint;

  constructor(
    private readonly choices: bigint,
    private readonly bits: number,
  ) {
    this.read = Math.min(bits, FINE);
    const size = 1n << BigInt(this.read);
    valid(choices <= size, "bits");
    this.limit = size - (size % choices);
    this.tries = Fraction.of(size, this.limit);
  }

  private drawn(words: Words): bigint {
    return BigInt.asUintN(this.bits, words[0]) >> BigInt(this.bits - this.read);
  }
  accepts(words: Words): boolean {
    return this.drawn(words) < this.limit;
  }
  of(words: Words): bigint {
    return this.drawn(words) % this.choices;
  }
}

export abstract class PublicMap {
  tries = ONE;

  constructor(
    readonly inputs: bigint,
    readonly outputs: bigint,
  ) {}

  abstract apply(words: Words, code: bigint): bigint;
  accepts(_words: Words): boolean {
    return true;
  }
}

/** Words have 64 bits, or few in proofs. */
export function wordBits(bits: bigint, ...short: bigint[]): number {
  valid([...short, 64n].includes(bits), "bits");
  return Number(bits);
}

/** The pairwise independent hash family. */
class Hash extends PublicMap {
  private readonly wide: number;
  constructor(k: bigint, g: bigint, bits: bigint) {
    const wide = wordBits(bits, 4n, 6n, 8n);
    const half = wide >> 1;
    super(ranged(k, 2n, 1n << BigInt(half), "k"), ranged(g, 2n, 1n << BigInt(Math.min(20, half)), "g"));
    this.wide = wide;
  }
  apply(words: Words, code: bigint): bigint {
    return hashValue(words[0], words[1], code, this.outputs, this.wide);
  }
}

/** Some public functions: an id chooses one of them, uniformly. */
class ChosenMap extends PublicMap {
  private readonly choice: Choice;

  constructor(
    inputs: bigint,
    outputs: bigint,
    readonly seeds: bigint,
    bits: bigint,
    readonly value: (seed: bigint, code: bigint) => bigint,
  ) {
    super(inputs, outputs);
    this.choice = new Choice(seeds, wordBits(bits, 2n, 4n, 6n, 8n));
    this.tries = this.choice.tries;
  }

  override accepts(words: Words): boolean {
    return this.choice.accepts(words);
  }
  seed(words: Words): bigint {
    return this.choice.of(words);
  }
  apply(words: Words, code: bigint): bigint {
    return this.value(this.seed(words), code);
  }
}

/** Functions of which a device may keep one. */
export class NumberedMap extends ChosenMap {}

/** How many vectors of digits there are over a field. */
export function field(g: bigint, digits: bigint, known: bigint): bigint {
  valid(isOrder(g), "g");
  valid(known === polynomial(g), "polynomial");
  return g ** digits;
}

class Pool extends NumberedMap {
  constructor(k: bigint, g: bigint, digits: bigint, bits: bigint, known: bigint) {
    const seeds = field(g, digits, known);
    super(ranged(k, 2n, seeds, "k"), g, seeds, bits, (seed, code) => dot(seed, code, g, digits));
  }
}

class Multiplier extends ChosenMap {
  constructor(k: bigint, order: bigint, bits: bigint) {
    valid(isPrime(order) && k <= order, "order");
    super(k, order, order - 1n, bits, (seed, code) => ((seed + 1n) * code) % order);
  }
}

class Asked extends NumberedMap {
  constructor(k: bigint, asked: bigint, bits: bigint) {
    ranged(asked, 1n, k, "asked");
    super(k, asked + 1n, k, bits, (seed, code) => least(mod(code - seed, k), asked));
  }
}

/** Balanced Bloom filters: one bit in each of some blocks of g positions. */
class Bloom extends NumberedMap {
  constructor(k: bigint, g: bigint, digits: bigint, blocks: bigint, bits: bigint, known: bigint) {
    const seeds = field(g, digits, known);
    super(ranged(k, 2n, least(seeds, MOST_FUNCTIONS), "k"), g ** blocks, seeds, bits, (seed, code) => {
      let value = 0n;
      for (let block = 0n; block < blocks; block++)
        value += dot((seed + block * (seeds / blocks)) % seeds, code, g, digits) * g ** block;
      return value;
    });
  }
}

/** Few hashed functions for up to 2**32 codes. */
class Rows extends NumberedMap {
  constructor(k: bigint, g: bigint, blocks: bigint, rows: bigint, bits: bigint) {
    const outputs = g ** blocks;
    valid((g & (g - 1n)) === 0n && outputs <= 1n << MOST_BLOCKS, "g");
    super(k, outputs, rows, bits, (seed, code) => hashValue(...rowWords(seed), code, outputs));
  }
}

/** Every permutation x -> a x + b of the numbers below a prime, followed by the remainder modulo g. */
class Permutations extends NumberedMap {
  constructor(k: bigint, prime: bigint, g: bigint, bits: bigint) {
    valid(isPrime(prime), "prime");
    super(ranged(k, 2n, prime, "k"), ranged(g, 2n, prime, "g"), prime * (prime - 1n), bits, (seed, code) =>
      ((((seed / prime + 1n) * code + (seed % prime)) % prime) % g),
    );
  }
}

export const MAPS: Kinds<PublicMap> = new Map();
const any = integer();
const bits = any;
const order = integer(2n, MOST_ORDER);
const digits = integer(1n, 24n);
const blocks = integer(1n, MOST_BLOCKS);
define(MAPS, "hash", Hash, { k: any, g: any, bits });
define(MAPS, "pool", Pool, { k: any, g: order, digits, bits, polynomial: any });
define(MAPS, "multiplier", Multiplier, { k: integer(2n), order: integer(2n, 1n + MOST_FUNCTIONS), bits });
define(MAPS, "asked", Asked, { k: integer(2n, MOST_FUNCTIONS), asked: any, bits });
define(MAPS, "bloom", Bloom, { k: any, g: order, digits, blocks, bits, polynomial: any });
define(MAPS, "rows", Rows, { k: integer(2n, 1n << 32n), g: integer(2n, 1n << 16n), blocks, rows: integer(1n, 1n << 16n), bits });
define(MAPS, "permutations", Permutations, { k: any, prime: order, g: any, bits });

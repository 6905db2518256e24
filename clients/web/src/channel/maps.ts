/** Public maps: functions of a report's id and a code. */
import { FINE, mod } from "../core/bytes";
import { need } from "../core/errors";
import { dot, hashValue, isOrder, isPrime, MOST_ORDER, polynomial, rowWords } from "../core/field";
import { Fraction, ONE } from "../core/fraction";
import { integer, take, type Spec } from "../core/json";
import type { Words } from "./channel";

export interface PublicMap {
  readonly inputs: bigint;
  readonly outputs: bigint;
  readonly tries: Fraction;
  accepts(words: Words): boolean;
  apply(words: Words, code: bigint): bigint;
  /** How many functions there are, where they are numbered. */
  readonly seeds?: bigint;
  seed?(words: Words): bigint;
  value?(seed: bigint, code: bigint): bigint;
}

/** One of some numbers, read from the leading bits of the first public word; some words are not accepted. */
export class Choice {
  private readonly read: number;
  private readonly limit: bigint;

  constructor(
    private readonly choices: bigint,
    private readonly bits: number,
  ) {
    this.read = Math.min(bits, FINE);
    const size = 1n << BigInt(this.read);
    need(choices <= size, "Public words are too short to choose a map.");
    this.limit = size - (size % choices);
  }

  private drawn(words: Words): bigint {
    return BigInt.asUintN(this.bits, words[0]) >> BigInt(this.bits - this.read);
  }
  accepts(words: Words): boolean {
    return this.drawn(words) < this.limit;
  }
  get tries(): Fraction {
    return Fraction.of(1n << BigInt(this.read), this.limit);
  }
  of(words: Words): bigint {
    return this.drawn(words) % this.choices;
  }
}

const MOST_BLOCKS = 20n;
const MOST_FUNCTIONS = 1n << 24n;

function least(a: bigint, b: bigint): bigint {
  return a < b ? a : b;
}

function read(spec: Spec, owner: string, ...names: string[]): { [name: string]: bigint } {
  const values = take(spec, owner, ...names);
  return Object.fromEntries(names.map((name, place) => [name, integer(values[place], owner, name)]));
}

function wordBits(bits: bigint, ...short: bigint[]): number {
  need([...short, 64n].includes(bits), "The 'bits' of a public map must be 64, or few in proofs.");
  return Number(bits);
}

/** The pairwise independent hash family. */
function hash(spec: Spec): PublicMap {
  const { k, g, bits } = read(spec, "hash", "k", "g", "bits");
  const wide = wordBits(bits!, 4n, 6n, 8n);
  const half = wide >> 1;
  return {
    inputs: integer(k, "hash", "k", 2n, 1n << BigInt(half)),
    outputs: integer(g, "hash", "g", 2n, 1n << BigInt(Math.min(20, half))),
    tries: ONE,
    accepts: () => true,
    apply: (words, code) => hashValue(words[0], words[1], code, g!, wide),
  };
}

function multiplier(spec: Spec): PublicMap {
  const { k, order, bits } = read(spec, "multiplier", "k", "order", "bits");
  const wide = wordBits(bits!, 2n, 4n, 6n, 8n);
  integer(order, "multiplier", "order", 2n, 1n + (1n << BigInt(Math.min(wide, 24))));
  need(isPrime(order!), "The 'order' of multiplier must be a prime.");
  const choice = new Choice(order! - 1n, wide);
  return {
    inputs: integer(k, "multiplier", "k", 2n, order),
    outputs: order!,
    tries: choice.tries,
    accepts: (words) => choice.accepts(words),
    apply: (words, code) => ((choice.of(words) + 1n) * code) % order!,
  };
}

function asked(spec: Spec): PublicMap {
  const { k, asked, bits } = read(spec, "asked", "k", "asked", "bits");
  const wide = wordBits(bits!, 2n, 4n, 6n, 8n);
  integer(k, "asked", "k", 2n, 1n << BigInt(Math.min(wide, 24)));
  integer(asked, "asked", "asked", 1n, k);
  const choice = new Choice(k!, wide);
  return {
    inputs: k!,
    outputs: asked! + 1n,
    tries: choice.tries,
    accepts: (words) => choice.accepts(words),
    apply: (words, code) => least(mod(code - choice.of(words), k!), asked!),
  };
}

/** Public functions that are numbered: an id chooses one of them, uniformly. */
function numbered(
  inputs: bigint,
  outputs: bigint,
  seeds: bigint,
  bits: bigint,
  value: (seed: bigint, code: bigint) => bigint,
): PublicMap {
  const choice = new Choice(seeds, wordBits(bits, 2n, 4n, 6n, 8n));
  const seed = (words: Words): bigint => choice.of(words);
  return {
    inputs,
    outputs,
    tries: choice.tries,
    accepts: (words) => choice.accepts(words),
    apply: (words, code) => value(seed(words), code),
    seeds,
    seed,
    value,
  };
}

function field(owner: string, g: bigint, digits: bigint, known: bigint): bigint {
  integer(g, owner, "g", 2n, MOST_ORDER);
  need(isOrder(g), `The 'g' of ${owner} must be a prime, or a power of two up to 256.`);
  integer(digits, owner, "digits", 1n, 24n);
  need(known === polynomial(g), `The 'polynomial' of ${owner} must be that of its field.`);
  return g ** digits;
}

function pool(spec: Spec): PublicMap {
  const { k, g, digits, bits, polynomial: known } = read(spec, "pool", "k", "g", "digits", "bits", "polynomial");
  const seeds = field("pool", g!, digits!, known!);
  return numbered(integer(k, "pool", "k", 2n, seeds), g!, seeds, bits!, (seed, code) => dot(seed, code, g!, digits!));
}

/** Balanced Bloom filters: one bit in each of some blocks of g positions. */
function bloom(spec: Spec): PublicMap {
  const names = ["k", "g", "digits", "blocks", "bits", "polynomial"];
  const { k, g, digits, blocks, bits, polynomial: known } = read(spec, "bloom", ...names);
  const seeds = field("bloom", g!, digits!, known!);
  integer(blocks, "bloom", "blocks", 1n, MOST_BLOCKS);
  const inputs = integer(k, "bloom", "k", 2n, least(seeds, MOST_FUNCTIONS));
  return numbered(inputs, g! ** blocks!, seeds, bits!, (seed, code) => {
    let value = 0n;
    for (let block = 0n; block < blocks!; block++)
      value += dot((seed + block * (seeds / blocks!)) % seeds, code, g!, digits!) * g! ** block;
    return value;
  });
}

/** Few hashed functions for up to 2**32 codes. */
function rows(spec: Spec): PublicMap {
  const { k, g, blocks, rows, bits } = read(spec, "rows", "k", "g", "blocks", "rows", "bits");
  integer(k, "rows", "k", 2n, 1n << 32n);
  integer(g, "rows", "g", 2n, 1n << 16n);
  integer(blocks, "rows", "blocks", 1n, MOST_BLOCKS);
  integer(rows, "rows", "rows", 1n, 1n << 16n);
  const outputs = g! ** blocks!;
  need((g! & (g! - 1n)) === 0n && outputs <= 1n << MOST_BLOCKS, "The 'g' of rows must be a small power of two.");
  return numbered(k!, outputs, rows!, bits!, (seed, code) => hashValue(...rowWords(seed), code, outputs));
}

/** Every permutation x -> a x + b of the numbers below a prime, followed by the remainder modulo g. */
function permutations(spec: Spec): PublicMap {
  const { k, prime, g, bits } = read(spec, "permutations", "k", "prime", "g", "bits");
  integer(prime, "permutations", "prime", 2n, MOST_ORDER);
  integer(k, "permutations", "k", 2n, prime);
  integer(g, "permutations", "g", 2n, prime);
  need(isPrime(prime!), "The 'prime' of permutations must be a prime.");
  return numbered(
    k!,
    g!,
    prime! * (prime! - 1n),
    bits!,
    (seed, code) => (((seed / prime! + 1n) * code + (seed % prime!)) % prime!) % g!,
  );
}

export const MAPS: { [kind: string]: (spec: Spec) => PublicMap } = Object.assign(Object.create(null), {
  hash,
  pool,
  multiplier,
  asked,
  bloom,
  rows,
  permutations,
});

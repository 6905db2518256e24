/** Public maps: functions of a report's id and a code. */
import { FINE } from "../core/bytes";
import { need } from "../core/errors";
import { dot, hashValue, isOrder, MOST_ORDER, polynomial } from "../core/field";
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


export function read(spec: Spec, owner: string, ...names: string[]): { [name: string]: bigint } {
  const values = take(spec, owner, ...names);
  return Object.fromEntries(names.map((name, place) => [name, integer(values[place], owner, name)]));
}

export function wordBits(bits: bigint, ...short: bigint[]): number {
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

/** Public functions that are numbered: an id chooses one of them, uniformly. */
export function numbered(
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

export function field(owner: string, g: bigint, digits: bigint, known: bigint): bigint {
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

export const MAPS: { [kind: string]: (spec: Spec) => PublicMap } = Object.assign(Object.create(null), {
  hash,
  pool,
});

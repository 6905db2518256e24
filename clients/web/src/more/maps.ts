/** Public maps that few mechanisms use. */
import { Choice, field, MAPS, numbered, read, wordBits, type PublicMap } from "../channel/maps";
import { mod } from "../core/bytes";
import { need } from "../core/errors";
import { dot, hashValue, isPrime, MOST_ORDER, rowWords } from "../core/field";
import { integer, type Spec } from "../core/json";

const MOST_BLOCKS = 20n;
const MOST_FUNCTIONS = 1n << 24n;

function least(a: bigint, b: bigint): bigint {
  return a < b ? a : b;
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

Object.assign(MAPS, { multiplier, asked, bloom, rows, permutations });

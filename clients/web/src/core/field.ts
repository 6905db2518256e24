/** Arithmetic in small finite fields, and the hash family of local hashing. */
import { bitCount, bitLength, fromBytes, join, toBytes, utf8 } from "./bytes";
import { sha256 } from "./sha256";

export const MOST_ORDER = 1n << 12n;

export function isPrime(n: bigint): boolean {
  if (n < 2n) return false;
  for (let d = 2n; d * d <= n; d++) if (n % d === 0n) return false;
  return true;
}

/** Whether there is a field of this order here: a prime, or a power of two up to 256. */
export function isOrder(g: bigint): boolean {
  return g >= 2n && g <= MOST_ORDER && (isPrime(g) || (g <= 256n && (g & (g - 1n)) === 0n));
}

const polynomials = new Map<bigint, bigint>();

/** The least irreducible polynomial of a field of 2**r elements, as a bit mask; 0 for a prime order. */
export function polynomial(g: bigint): bigint {
  if (!polynomials.has(g)) polynomials.set(g, isPrime(g) ? 0n : irreducible(g));
  return polynomials.get(g)!;
}

function irreducible(g: bigint): bigint {
  const half = 1n << BigInt(((bitLength(g) - 1) >> 1) + 1);
  for (let candidate = g; ; candidate++) {
    let divided = false;
    for (let divisor = 2n; divisor < half; divisor++) divided ||= remainder(candidate, divisor) === 0n;
    if (!divided) return candidate;
  }
}

function remainder(value: bigint, divisor: bigint): bigint {
  const length = bitLength(divisor);
  while (bitLength(value) >= length) value ^= divisor << BigInt(bitLength(value) - length);
  return value;
}

function multiply(a: bigint, b: bigint, g: bigint): bigint {
  const modulus = polynomial(g);
  if (!modulus) return (a * b) % g;
  const degree = BigInt(bitLength(g) - 1);
  let found = 0n;
  for (let place = 0n; place < degree; place++) found ^= (a << place) * ((b >> place) & 1n);
  for (let place = degree - 2n; place >= 0n; place--) found ^= (modulus << place) * ((found >> (place + degree)) & 1n);
  return found;
}

/** The inner product of two vectors, each written as a number with some digits in base g. */
export function dot(a: bigint, b: bigint, g: bigint, digits: bigint): bigint {
  if (g === 2n) return BigInt(bitCount(a & b) & 1);
  let found = 0n;
  for (let place = 0n; place < digits; place++) {
    const term = multiply(a % g, b % g, g);
    found = polynomial(g) ? found ^ term : (found + term) % g;
    a /= g;
    b /= g;
  }
  return found;
}

/** ((((a v + b) mod 2**bits) >> bits/2) g) >> bits/2. */
export function hashValue(a: bigint, b: bigint, value: bigint, g: bigint, bits = 64): bigint {
  const half = BigInt(bits >> 1);
  return ((BigInt.asUintN(bits, a * value + b) >> half) * g) >> half;
}

type Pair = readonly [bigint, bigint];

export function idWords(id: Uint8Array): Pair {
  return [fromBytes(id.subarray(0, 8)), fromBytes(id.subarray(8, 16))];
}

export function idBytes(words: Pair): Uint8Array {
  return join(toBytes(words[0], 8), toBytes(words[1], 8));
}

/** The public words of the node at a nesting depth: the id itself innermost, SHA-256(id, depth) outside. */
export function derivedWords(words: Pair, depth: number): Pair {
  return depth ? idWords(sha256(join(idBytes(words), Uint8Array.of(depth)))) : words;
}

/** The two words of the hash function of a row of a sketch. */
export function rowWords(row: bigint): Pair {
  return idWords(sha256(utf8(`sottovoce rows 1|${row}`)));
}

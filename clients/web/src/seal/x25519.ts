/**
 * X25519 (RFC 7748). Every private key here is drawn for one report and used once, so that the time which arithmetic with
 * it takes tells nothing about an answer or about another report.
 */
import { fromBytes, low, mod, toBytes } from "../core/bytes";

const PRIME = (1n << 255n) - 19n;
const A24 = 121_665n;
export const KEY = 32;

function power(base: bigint, exponent: bigint): bigint {
  let found = 1n;
  for (let bit = 254n; bit >= 0n; bit--) {
    found = (found * found) % PRIME;
    if ((exponent >> bit) & 1n) found = (found * base) % PRIME;
  }
  return found;
}

/** The multiple of a point by a private key, both as bytes; zeros for a point of small order. */
export function multiple(secret: Uint8Array, point: Uint8Array): Uint8Array {
  const scalar = (fromBytes(secret) & (low(255) - 7n)) | (1n << 254n);
  const x = fromBytes(point) & low(255);
  let [a, b, c, d] = [1n, 0n, x % PRIME, 1n];
  for (let bit = 254n; bit >= 0n; bit--) {
    const swap = (scalar >> bit) & 1n;
    if (swap) [a, b, c, d] = [c, d, a, b];
    const [sum, gap, other, rest] = [a + b, a - b, (c + d) * (a - b), (c - d) * (a + b)];
    const [square, small] = [(sum * sum) % PRIME, (gap * gap) % PRIME];
    const apart = square - small;
    c = mod((other + rest) ** 2n, PRIME);
    d = mod(x * mod((other - rest) ** 2n, PRIME), PRIME);
    a = (square * small) % PRIME;
    b = mod(apart * (square + A24 * apart), PRIME);
    if (swap) [a, b, c, d] = [c, d, a, b];
  }
  return toBytes((a * power(b, PRIME - 2n)) % PRIME, KEY);
}

const BASE = toBytes(9n, KEY);

/** The public key of a private one. */
export const publicKey = (secret: Uint8Array): Uint8Array => multiple(secret, BASE);

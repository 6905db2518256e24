/** SHA-256 and HMAC. `crypto.subtle` is absent from pages that are served without TLS, so this is our own. */
import { join } from "./bytes";

function roots(power: number, count: number): number[] {
  const found: number[] = [];
  for (let candidate = 2; found.length < count; candidate++) {
    let prime = true;
    for (let divisor = 2; divisor * divisor <= candidate; divisor++) prime &&= candidate % divisor !== 0;
    if (prime) found.push(fraction(BigInt(candidate), power));
  }
  return found;
}

/** The first 32 bits of the fractional part of a root, by exact search. */
function fraction(number: bigint, power: number): number {
  const scaled = number << BigInt(32 * power);
  let root = 0n;
  for (let bit = 1n << 40n; bit; bit >>= 1n) if ((root | bit) ** BigInt(power) <= scaled) root |= bit;
  return Number(root & 0xffffffffn);
}

const ROUNDS = roots(3, 64);
const START = roots(2, 8);

export function sha256(message: Uint8Array): Uint8Array {
  const length = message.length;
  const padded = new Uint8Array(((length + 72) >> 6) << 6);
  padded.set(message);
  padded[length] = 0x80;
  const view = new DataView(padded.buffer);
  view.setUint32(padded.length - 8, Math.floor(length / 0x20000000));
  view.setUint32(padded.length - 4, (length << 3) >>> 0);
  const state = Uint32Array.from(START);
  const words = new Uint32Array(64);
  for (let at = 0; at < padded.length; at += 64) {
    for (let i = 0; i < 16; i++) words[i] = view.getUint32(at + 4 * i);
    for (let i = 16; i < 64; i++) {
      const early = words[i - 15]!;
      const late = words[i - 2]!;
      const first = turn(early, 7) ^ turn(early, 18) ^ (early >>> 3);
      const second = turn(late, 17) ^ turn(late, 19) ^ (late >>> 10);
      words[i] = words[i - 16]! + first + words[i - 7]! + second;
    }
    let [a, b, c, d, e, f, g, h] = state as unknown as number[] as [number, number, number, number, number, number, number, number];
    for (let i = 0; i < 64; i++) {
      const choice = (e & f) ^ (~e & g);
      const one = (h + (turn(e, 6) ^ turn(e, 11) ^ turn(e, 25)) + choice + ROUNDS[i]! + words[i]!) | 0;
      const two = ((turn(a, 2) ^ turn(a, 13) ^ turn(a, 22)) + ((a & b) ^ (a & c) ^ (b & c))) | 0;
      h = g;
      g = f;
      f = e;
      e = (d + one) | 0;
      d = c;
      c = b;
      b = a;
      a = (one + two) | 0;
    }
    [a, b, c, d, e, f, g, h].forEach((one, place) => (state[place]! += one));
  }
  const digest = new Uint8Array(32);
  const out = new DataView(digest.buffer);
  state.forEach((one, place) => out.setUint32(4 * place, one));
  return digest;
}

function turn(word: number, by: number): number {
  return (word >>> by) | (word << (32 - by));
}

export function hmac(key: Uint8Array, message: Uint8Array): Uint8Array {
  const block = new Uint8Array(64);
  block.set(key.length > 64 ? sha256(key) : key);
  const pad = (by: number): Uint8Array => block.map((one) => one ^ by);
  return sha256(join(pad(0x5c), sha256(join(pad(0x36), message))));
}

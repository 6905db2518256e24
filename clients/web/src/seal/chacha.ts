/** ChaCha20 and Poly1305 (RFC 8439): encryption that nobody can change unnoticed. */
import { fromBytes, join, low, toBytes } from "../core/bytes";

const CONSTANTS = [0x61707865, 0x3320646e, 0x79622d32, 0x6b206574];
const BLOCK = 64;
const TAG = 16;
const PRIME = (1n << 130n) - 5n;
// Of the 16 words of a block, those of each quarter: four columns, then four diagonals.
const QUARTERS = [0, 1, 2, 3].map((one) => [one, one + 4, one + 8, one + 12]);
const DIAGONALS = [0, 1, 2, 3].map((one) => [one, 4 + ((one + 1) % 4), 8 + ((one + 2) % 4), 12 + ((one + 3) % 4)]);
const ROUND = [...QUARTERS, ...DIAGONALS] as [number, number, number, number][];
const TURNS = [16, 12, 8, 7];

function words(bytes: Uint8Array): number[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  return Array.from({ length: bytes.length / 4 }, (_, place) => view.getUint32(4 * place, true));
}

/** One block of the stream. */
function block(key: Uint8Array, nonce: Uint8Array, counter: number): Uint8Array {
  const start = [...CONSTANTS, ...words(key), counter, ...words(nonce)];
  const now = Uint32Array.from(start);
  for (let round = 0; round < 10; round++)
    for (const [a, b, c, d] of ROUND)
      for (const [step, by] of TURNS.entries()) {
        const [to, from, turned] = step % 2 ? [c, d, b] : [a, b, d];
        now[to]! += now[from]!;
        const mixed = now[turned]! ^ now[to]!;
        now[turned] = (mixed << by) | (mixed >>> (32 - by));
      }
  const found = new DataView(new ArrayBuffer(BLOCK));
  now.forEach((one, place) => found.setUint32(4 * place, one + start[place]!, true));
  return new Uint8Array(found.buffer);
}

function poly1305(key: Uint8Array, message: Uint8Array): Uint8Array {
  const r = fromBytes(key.subarray(0, 16)) & 0x0ffffffc0ffffffc0ffffffc0fffffffn;
  let sum = 0n;
  for (let place = 0; place < message.length; place += 16)
    sum = ((sum + fromBytes(join(message.subarray(place, place + 16), Uint8Array.of(1)))) * r) % PRIME;
  return toBytes((sum + fromBytes(key.subarray(16))) & low(128), TAG);
}

const filled = (bytes: Uint8Array): Uint8Array => join(bytes, new Uint8Array(-bytes.length & 15));
const size = (bytes: Uint8Array): Uint8Array => toBytes(BigInt(bytes.length), 8);

/** The text, encrypted, and its tag behind it. */
export function encrypt(key: Uint8Array, nonce: Uint8Array, plain: Uint8Array, known: Uint8Array): Uint8Array {
  const hidden = plain.slice();
  for (let place = 0; place < plain.length; place += BLOCK)
    block(key, nonce, 1 + place / BLOCK).forEach((one, at) => (hidden[place + at]! ^= one)); // beyond the end: nothing
  const message = join(filled(known), filled(hidden), size(known), size(hidden));
  return join(hidden, poly1305(block(key, nonce, 0).subarray(0, 32), message));
}

/** SHAKE-256 (FIPS 202), for words from a seed: simulations and the shared test vectors. */

const LANE = (1n << 64n) - 1n;

function turn(lane: bigint, by: number): bigint {
  return ((lane << BigInt(by)) | (lane >> BigInt(64 - by))) & LANE;
}

/** The constants of the last step: bit 2**j - 1 is a bit of a linear shift register. */
function constants(): bigint[] {
  let register = 1;
  return Array.from({ length: 24 }, () => {
    let constant = 0n;
    for (let j = 0; j < 7; j++) {
      if (register & 1) constant |= 1n << BigInt((1 << j) - 1);
      register = (register << 1) ^ ((register >> 7) * 0x171);
    }
    return constant;
  });
}
const CONSTANTS = constants();

function permute(state: bigint[]): void {
  for (const constant of CONSTANTS) {
    const parity = [0, 1, 2, 3, 4].map((x) => state[x]! ^ state[x + 5]! ^ state[x + 10]! ^ state[x + 15]! ^ state[x + 20]!);
    for (let x = 0; x < 5; x++) {
      const mixed = parity[(x + 4) % 5]! ^ turn(parity[(x + 1) % 5]!, 1);
      for (let y = 0; y < 25; y += 5) state[x + y]! ^= mixed;
    }
    let [x, y] = [1, 0];
    let held = state[1]!;
    for (let step = 0; step < 24; step++) {
      [x, y] = [y, (2 * x + 3 * y) % 5];
      const place = x + 5 * y;
      [held, state[place]] = [state[place]!, turn(held, (((step + 1) * (step + 2)) / 2) % 64)];
    }
    for (let row = 0; row < 25; row += 5) {
      const old = state.slice(row, row + 5);
      for (let i = 0; i < 5; i++) state[row + i] = old[i]! ^ (~old[(i + 1) % 5]! & LANE & old[(i + 2) % 5]!);
    }
    state[0]! ^= constant;
  }
}

const RATE = 136;

export function shake256(message: Uint8Array, length: number): Uint8Array {
  const padded = new Uint8Array((Math.floor(message.length / RATE) + 1) * RATE);
  padded.set(message);
  padded[message.length]! ^= 0x1f;
  padded[padded.length - 1]! ^= 0x80;
  const state: bigint[] = Array(25).fill(0n);
  const view = new DataView(padded.buffer);
  for (let at = 0; at < padded.length; at += RATE) {
    for (let lane = 0; lane < RATE / 8; lane++) state[lane]! ^= view.getBigUint64(at + 8 * lane, true);
    permute(state);
  }
  const found = new Uint8Array(Math.ceil(length / RATE) * RATE);
  const out = new DataView(found.buffer);
  for (let at = 0; at < length; at += RATE) {
    if (at) permute(state);
    for (let lane = 0; lane < RATE / 8; lane++) out.setBigUint64(at + 8 * lane, state[lane]!, true);
  }
  return found.subarray(0, length);
}

/** Bytes, numbers and texts. Reports are non-negative integers, little-endian on the wire. */

export const UNIT = 1n << 53n;
export const FINE = 53;

export function utf8(text: string): Uint8Array {
  return new TextEncoder()["encode"](text); // in quotes it keeps its name (private.mjs)
}

export function hex(bytes: Uint8Array): string {
  let text = "";
  for (const one of bytes) text += one.toString(16).padStart(2, "0");
  return text;
}

export function unhex(text: string): Uint8Array {
  return Uint8Array.from(text.match(/../g) ?? [], (pair) => parseInt(pair, 16));
}

export function join(...parts: Uint8Array[]): Uint8Array {
  const all = new Uint8Array(parts.reduce((total, part) => total + part.length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

/** The number whose little-endian bytes these are. */
export function fromBytes(bytes: Uint8Array): bigint {
  return BigInt(`0x0${hex(bytes.slice().reverse())}`);
}

export function toBytes(number: bigint, length: number): Uint8Array {
  return unhex(number.toString(16).padStart(2 * length, "0")).reverse();
}

export function bitLength(number: bigint): number {
  const digits = number.toString(16);
  return number === 0n ? 0 : 4 * digits.length - Math.clz32(parseInt(digits[0]!, 16)) + 28;
}

export function bitCount(number: bigint): number {
  return number.toString(2).split("1").length - 1;
}

/** Floor of a quotient, and the remainder with the sign of the divisor, which is positive. */
export function floorDiv(number: bigint, divisor: bigint): bigint {
  const quotient = number / divisor;
  return number % divisor < 0n ? quotient - 1n : quotient;
}

export function mod(number: bigint, divisor: bigint): bigint {
  const rest = number % divisor;
  return rest < 0n ? rest + divisor : rest;
}

export function least(one: bigint, other: bigint): bigint {
  return one < other ? one : other;
}

export function ceilDiv(number: bigint, divisor: bigint): bigint {
  return -floorDiv(-number, divisor);
}

export function low(bits: number): bigint {
  return (1n << BigInt(bits)) - 1n;
}

export function sum(numbers: readonly bigint[]): bigint {
  return numbers.reduce((total, number) => total + number, 0n);
}

/** Running sums. */
export function running(numbers: readonly bigint[]): bigint[] {
  let total = 0n;
  return numbers.map((number) => (total += number));
}

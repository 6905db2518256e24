/** Decimals as exact fractions, and the exact comparison of a likelihood ratio with e**epsilon. */
import { bitLength } from "./bytes";
import { Fraction, ONE } from "./fraction";
import { valid } from "./read";

const MOST_DIGITS = 120;
const DIGITS = 60;
const PLACES = 640n; // binary places of the exponential
const LARGE = 1000n;

/** A number as JavaScript prints it, or the text of a specification: exactly. Null if it is not a finite number. */
export function readDecimal(text: string): Fraction | null {
  const found = /^([+-]?)(\d*)(?:\.(\d*))?(?:e([+-]?\d{1,5}))?$/i.exec(text);
  if (!found || !(found[2] || found[3])) return null;
  const digits = (found[2] ?? "") + (found[3] ?? "");
  const exponent = Number(found[4] ?? 0) - (found[3] ?? "").length;
  const significant = digits.replace(/^0+(?=.)/, "");
  // Like Python's `adjusted`, which is also defined for zeros.
  if (Math.abs(significant.length - 1 + exponent) > MOST_DIGITS || significant.length > MOST_DIGITS) return null;
  return scaled(BigInt(digits) * (found[1] === "-" ? -1n : 1n), exponent);
}

/** A number times a power of ten. */
function scaled(number: bigint, exponent: number): Fraction {
  const power = 10n ** BigInt(Math.abs(exponent));
  return exponent < 0 ? Fraction.of(number, power) : Fraction.of(number * power);
}

const CANONICAL = /^(0|-?[1-9]\d*|-?(0|[1-9]\d*)\.\d*[1-9])$/;

/** A decimal of a specification: each number has one text. */
export function decimal(value: unknown): Fraction {
  const number = typeof value === "string" && CANONICAL.test(value) ? readDecimal(value) : null;
  valid(number);
  return number!;
}

/** The text of a fraction whose denominator divides a power of ten. */
export function decimalText(value: Fraction): string {
  let scale = 0;
  let power = 1n;
  while (power % value.d !== 0n) {
    power *= 10n;
    scale++;
  }
  const digits = ((value.n < 0n ? -value.n : value.n) * (power / value.d)).toString().padStart(scale + 1, "0");
  const cut = digits.length - scale;
  return (value.n < 0n ? "-" : "") + digits.slice(0, cut) + (scale ? `.${digits.slice(cut)}` : "");
}

/** A budget of a specification, in (0, 20]. */
export function budget(value: unknown): Fraction {
  const number = decimal(value);
  valid(number.n > 0n && number.n <= 20n * number.d);
  return number;
}

/** e**x of a number from 0 to 1000, times 2**PLACES; the relative error is far below 10**-150. */
function exponential(x: Fraction): bigint {
  const halvings = 24n;
  const small = ((x.n << PLACES) / x.d) >> halvings;
  let term = 1n << PLACES;
  let found = term;
  for (let n = 1n; term; n++) {
    term = ((term * small) >> PLACES) / n;
    found += term;
  }
  for (let i = 0n; i < halvings; i++) found = (found * found) >> PLACES;
  return found;
}

/** The decimal of 60 digits just below the one nearest to e**x. */
function below(x: Fraction): Fraction {
  const power = exponential(x);
  let exponent = (power >> PLACES).toString().length - DIGITS; // of the last of 60 digits
  const { n, d } = scaled(power, -exponent);
  let digits = ((n << 1n) + (d << PLACES)) / (d << (PLACES + 1n));
  if (digits === 10n ** BigInt(DIGITS)) {
    digits /= 10n;
    exponent++;
  }
  // Below a power of ten the decimals of 60 digits are ten times as dense.
  if (digits === 10n ** BigInt(DIGITS - 1)) {
    digits *= 10n;
    exponent--;
  }
  return scaled(digits - 1n, exponent);
}

/** Whether ratio <= e**epsilon, exactly. In a gap of one part in 10**59 the answer is no. */
export function within(ratio: Fraction, epsilon: Fraction): boolean {
  if (epsilon.n < 0n) return false;
  if (ratio.equals(ONE)) return true;
  if (epsilon.compare(Fraction.of(LARGE)) > 0) return ratio.compare(below(Fraction.of(LARGE))) <= 0;
  return ratio.compare(below(epsilon)) <= 0;
}

/** A quotient of long integers as a float. */
function quotient(n: bigint, d: bigint): number {
  const shift = BigInt(Math.max(0, bitLength(d) - bitLength(n) + 64));
  const cut = BigInt(Math.max(0, bitLength(n) - bitLength(d) - 64));
  return (Number((n << shift) / (d << cut)) / 2 ** Number(shift)) * 2 ** Number(cut);
}

/** ln(ratio): the least float that is not below it. */
export function loss(ratio: Fraction): number {
  if (ratio.equals(ONE)) return 0;
  const halved = Math.max(0, bitLength(ratio.n) - bitLength(ratio.d) - 1);
  const rest = Fraction.of(ratio.n, ratio.d << BigInt(halved));
  const near = Math.log1p(quotient(rest.n - rest.d, rest.d)) + halved * Math.LN2;
  if (near > Number(LARGE)) return near;
  // So near to 1 the comparison with 60 digits says no for every small epsilon; this is above the loss.
  if (near < 1e-40) return Math.max(1.001 * near, 1e-58);
  let found = near;
  for (let step = 0; step < 8; step++) found = beside(found, -1);
  while (!within(ratio, exactly(found))) found = beside(found, 1);
  return found;
}

/** The float after or before a positive one. */
function beside(value: number, by: number): number {
  const view = new DataView(new ArrayBuffer(8));
  view.setFloat64(0, value);
  view.setBigInt64(0, view.getBigInt64(0) + BigInt(by));
  return view.getFloat64(0);
}

/** A positive float as the fraction that it is. */
export function exactly(value: number): Fraction {
  let exponent = 0;
  while (!Number.isInteger(value)) {
    value *= 2;
    exponent++;
  }
  return Fraction.of(BigInt(value), 1n << BigInt(exponent));
}

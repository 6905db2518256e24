/** Exact fractions. Every operation is paid for from a budget, so that no specification keeps a page busy. */
import { bitLength, floorDiv, UNIT } from "./bytes";
import { infinite, refuse } from "./errors";

const BASE_STEPS = 1 << 16;
let left = Infinity;

/** Read a text of some bytes with the arithmetic that such a text is granted. */
export function metered<T>(bytes: number, work: () => T): T {
  const before = left;
  left = Math.min(before, BASE_STEPS + (bytes >> 2));
  try {
    return work();
  } finally {
    left = before;
  }
}

export function spend(steps: number): void {
  left -= steps;
  if (left < 0) refuse("The loss of this specification takes too long.");
}

/** Denominators are mostly powers of two, which are taken out first: Euclid's steps are long for long numbers. */
function gcd(a: bigint, b: bigint): bigint {
  if (!a) return b;
  const [lowest, other] = [a & -a, b & -b];
  const twos = lowest < other ? lowest : other;
  a /= lowest;
  b /= other;
  while (b) [a, b] = [b, a % b];
  return twos * a;
}

export class Fraction {
  private constructor(
    readonly n: bigint,
    readonly d: bigint,
  ) {}

  static of(n: bigint, d: bigint = 1n): Fraction {
    if (d < 0n) [n, d] = [-n, -d];
    if (d === 1n) return new Fraction(n, d);
    if (d === 0n) infinite();
    const bits = bitLength(d);
    spend(1 + (bits >> 8) + Math.floor((bits * bits) / (1 << 19)));
    const common = gcd(n < 0n ? -n : n, d);
    return new Fraction(n / common, d / common);
  }

  plus(other: Fraction): Fraction {
    return Fraction.of(this.n * other.d + other.n * this.d, this.d * other.d);
  }

  minus(other: Fraction): Fraction {
    return Fraction.of(this.n * other.d - other.n * this.d, this.d * other.d);
  }

  times(other: Fraction): Fraction {
    return Fraction.of(this.n * other.n, this.d * other.d);
  }

  over(other: Fraction): Fraction {
    return Fraction.of(this.n * other.d, this.d * other.n);
  }

  /** A power, which is in lowest terms already. */
  power(exponent: number): Fraction {
    spend((exponent * Math.max(bitLength(this.n), bitLength(this.d))) >> 6);
    return new Fraction(this.n ** BigInt(exponent), this.d ** BigInt(exponent));
  }

  /** Negative, zero or positive as this is below, equal to or above the other. */
  compare(other: Fraction): number {
    const difference = this.n * other.d - other.n * this.d;
    return difference < 0n ? -1 : difference > 0n ? 1 : 0;
  }

  equals(other: Fraction): boolean {
    return this.n === other.n && this.d === other.d;
  }

  floor(): bigint {
    return floorDiv(this.n, this.d);
  }

  text(): string {
    return this.d === 1n ? `${this.n}` : `${this.n}/${this.d}`;
  }
}

export const ZERO = Fraction.of(0n);
export const ONE = Fraction.of(1n);

export function units(count: bigint): Fraction {
  return Fraction.of(count, UNIT);
}

export function larger(one: Fraction, other: Fraction): Fraction {
  return other.compare(one) > 0 ? other : one;
}

export function largest(values: Fraction[], start = values[0]!): Fraction {
  return values.reduce(larger, start);
}

export function smallest(values: Fraction[]): Fraction {
  return values.reduce((one, other) => (other.compare(one) < 0 ? other : one));
}

export function product(values: Fraction[]): Fraction {
  return values.reduce((found, one) => found.times(one), ONE);
}

export function total(values: Fraction[]): Fraction {
  return values.reduce((found, one) => found.plus(one), ZERO);
}

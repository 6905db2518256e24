/** `projective`: sets of the points of a projective space. */
import { mod } from "../core/bytes";
import { isPrime } from "../core/field";
import { count, define, integer, ranged, valid } from "../core/read";
import { SETS, type Sets } from "./sets";

const MOST_POINTS = 1n << 22n;

/** Points and hyperplanes of the projective space over the integers modulo a prime. */
class ProjectiveSets implements Sets {
  readonly outputs: bigint;
  readonly size: bigint;
  private readonly spaces: bigint[] = [0n];

  constructor(
    readonly codes: bigint,
    readonly order: bigint,
    readonly digits: number,
  ) {
    for (let i = 0; i < digits; i++) this.spaces.push(this.spaces[i]! * order + 1n);
    this.outputs = this.spaces[digits]!;
    this.size = this.spaces[digits - 1]!;
    valid(isPrime(order), "order");
    valid(this.outputs <= MOST_POINTS, "digits");
    ranged(codes, 2n, this.outputs, "codes");
  }

  /** How many coordinates follow the first non-zero one of a point. */
  private follow(number: bigint, digits: number): number {
    let found = 0;
    for (let m = 1; m < digits; m++) found += Number(number >= this.spaces[m]!);
    return found;
  }

  private digitsOf(value: bigint, digits: number): bigint[] {
    const found: bigint[] = [];
    for (let place = digits - 1; place >= 0; place--) found.push((value / this.order ** BigInt(place)) % this.order);
    return found;
  }

  private point(number: bigint, digits: number): bigint[] {
    const follow = this.follow(number, digits);
    return this.digitsOf(number - this.spaces[follow]! + this.order ** BigInt(follow), digits);
  }

  private value(coordinates: bigint[]): bigint {
    return coordinates.reduce((value, one) => value * this.order + one, 0n);
  }

  /** The number of the point on the line through a vector that is not zero. */
  private number(coordinates: bigint[]): bigint {
    const value = this.value(coordinates);
    let follow = 0n;
    for (let m = 1n; m < this.digits; m++) follow += BigInt(value >= this.order ** m);
    const first = value / this.order ** follow;
    let scale = 1n; // the inverse, by Fermat
    for (let bit = this.order > 2n ? this.order - 2n : 0n, power = first; bit; bit >>= 1n, power = (power * power) % this.order)
      if (bit & 1n) scale = (scale * power) % this.order;
    const scaled = this.value(coordinates.map((one) => (scale * one) % this.order));
    return scaled - this.order ** follow + this.spaces[Number(follow)]!;
  }

  member(code: bigint, output: bigint): boolean {
    const vector = this.point(code, this.digits).reverse();
    const point = this.point(output, this.digits);
    return vector.reduce((total, one, place) => total + one * point[place]!, 0n) % this.order === 0n;
  }

  output(code: bigint, index: bigint, inside: boolean): bigint {
    const vector = this.point(code, this.digits).reverse();
    const last = this.follow(code, this.digits);
    const rest = this.digits - 1;
    const within = this.point(index % this.size, rest);
    const beyond = this.digitsOf(index, rest);
    const free = inside ? within : beyond;
    vector.splice(last, 1);
    const inner = vector.reduce((total, one, place) => total + one * free[place]!, 0n);
    free.splice(last, 0, mod(BigInt(!inside) - inner, this.order));
    return this.number(free);
  }
}

define(SETS, "projective", ProjectiveSets, { codes: integer(), order: integer(2n, MOST_POINTS), digits: count(2n, 22n) });

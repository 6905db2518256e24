/** `block`: each code has a public set of outputs; with probability `inside` a uniform one of them. */
import { bitCount, ceilDiv, mod, UNIT } from "../core/bytes";
import type { Coins } from "../core/coins";
import { need } from "../core/errors";
import { dot, isOrder, isPrime, MOST_ORDER, polynomial } from "../core/field";
import { Fraction, spend, units } from "../core/fraction";
import { integer, kindOf, take, texts, type Spec } from "../core/json";
import { informative, NODES, Numbered, unit } from "../channel/channel";

export interface Sets {
  readonly codes: bigint;
  readonly outputs: bigint;
  readonly size: bigint;
  /** The index-th output of the code's set, or of all others. */
  output(code: bigint, index: bigint, inside: boolean): bigint;
  member(code: bigint, output: bigint): boolean;
  /** For signed sets: for how many places one report can support one sign and not the other. */
  readonly together?: bigint;
}

const MOST = 1n << 24n;
const MOST_POINTS = 1n << 22n;
const MOST_BITS = 1 << 22;

/** Rows of Hadamard matrices, in groups. */
export class HadamardSets implements Sets {
  readonly outputs: bigint;
  readonly size: bigint;

  constructor(
    readonly codes: bigint,
    readonly order: bigint,
    readonly groups: bigint,
  ) {
    integer(order, "hadamard", "order", 2n, MOST);
    integer(groups, "hadamard", "groups", 1n, MOST);
    need((order & (order - 1n)) === 0n, "The 'order' of hadamard must be a power of two.");
    integer(codes, "hadamard", "codes", 2n, groups * (order - 1n));
    this.outputs = order * groups;
    this.size = order / 2n;
  }

  member(code: bigint, output: bigint): boolean {
    const row = code / this.groups + 1n;
    return output / this.order === code % this.groups && bitCount((output % this.order) & row) % 2 === 0;
  }

  output(code: bigint, index: bigint, inside: boolean): bigint {
    const near = index < this.size || inside;
    const beyond = index - this.size;
    const far = beyond + this.order * BigInt(beyond >= (code % this.groups) * this.order);
    const half = this.half(code, index, Number(!inside));
    return near ? half : far;
  }

  /** The index-th output of the code's group with this parity: free bits, and one that sets the parity. */
  private half(code: bigint, index: bigint, parity: number): bigint {
    const row = code / this.groups + 1n;
    const lowest = row & -row;
    const free = ((index & ~(lowest - 1n)) << 1n) | (index & (lowest - 1n));
    const odd = bitCount(free & row) & 1;
    return (code % this.groups) * this.order + (free | (lowest * BigInt(odd !== parity)));
  }

  static read(spec: Spec): HadamardSets {
    const [codes, order, groups] = numbers(spec, "hadamard", "codes", "order", "groups");
    return new HadamardSets(codes!, order!, groups!);
  }
}

function numbers(spec: Spec, owner: string, ...names: string[]): bigint[] {
  return take(spec, owner, ...names).map((value, place) => integer(value, owner, names[place]!));
}

/** Arcs of a circle of outputs. */
class ArcSets implements Sets {
  constructor(
    readonly codes: bigint,
    readonly outputs: bigint,
    readonly size: bigint,
  ) {
    integer(outputs, "arcs", "outputs", 2n, MOST);
    integer(size, "arcs", "size", 1n, outputs - 1n);
    integer(codes, "arcs", "codes", outputs, outputs + 1n);
  }

  member(code: bigint, output: bigint): boolean {
    return mod(output - code, this.outputs) < this.size;
  }

  output(code: bigint, index: bigint, inside: boolean): bigint {
    return (code + index + (inside ? 0n : this.size)) % this.outputs;
  }

  static read(spec: Spec): ArcSets {
    const [codes, outputs, size] = numbers(spec, "arcs", "codes", "outputs", "size");
    return new ArcSets(codes!, outputs!, size!);
  }
}

/** Each node of a level of a hierarchy is an output of its own. */
class NodeSets implements Sets {
  readonly outputs: bigint;
  readonly size = 1n;

  constructor(
    readonly codes: bigint,
    readonly width: bigint,
  ) {
    integer(codes, "nodes", "codes", 2n, MOST);
    integer(width, "nodes", "width", 1n, codes - 1n);
    this.outputs = ceilDiv(codes, width);
  }

  member(code: bigint, output: bigint): boolean {
    return output === code / this.width;
  }

  output(code: bigint, index: bigint, inside: boolean): bigint {
    const node = code / this.width;
    return inside ? node : index + BigInt(index >= node);
  }

  static read(spec: Spec): NodeSets {
    const [codes, width] = numbers(spec, "nodes", "codes", "width");
    return new NodeSets(codes!, width!);
  }
}

/** Pairs of a linear map over a small field and the value that it gives the node. */
class PoolSets implements Sets {
  readonly outputs: bigint;
  readonly size: bigint;

  constructor(
    readonly codes: bigint,
    readonly width: bigint,
    readonly g: bigint,
    readonly digits: bigint,
    readonly odd: bigint,
  ) {
    const nodes = new NodeSets(codes, width).outputs;
    integer(g, "pool", "g", 2n, MOST_ORDER);
    need(isOrder(g), "The 'g' of pool must be a prime, or a power of two up to 256.");
    integer(digits, "pool", "digits", 1n, 24n);
    integer(odd, "pool", "odd", 0n, BigInt(g === 2n));
    const vectors = g ** digits;
    need(nodes <= vectors && vectors <= MOST, "Vectors of digits must number the nodes, and be at most 2**24.");
    this.size = vectors >> odd;
    this.outputs = this.size * g;
  }

  private value(map: bigint, code: bigint): bigint {
    return dot((map << this.odd) | this.odd, code / this.width, this.g, this.digits);
  }

  member(code: bigint, output: bigint): boolean {
    return output % this.g === this.value(output / this.g, code);
  }

  output(code: bigint, index: bigint, inside: boolean): bigint {
    const others = this.g - 1n;
    const wide = index * (inside ? others : 1n);
    const [map, further] = [wide / others, wide % others];
    return map * this.g + ((this.value(map, code) + (inside ? 0n : 1n + further)) % this.g);
  }

  static read(spec: Spec): PoolSets {
    const [codes, width, g, digits, odd, known] = numbers(spec, "pool", "codes", "width", "g", "digits", "odd", "polynomial");
    const found = new PoolSets(codes!, width!, g!, digits!, odd!);
    need(known === polynomial(g!), "The 'polynomial' of pool must be that of its field.");
    return found;
  }
}

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
    need(this.outputs <= MOST_POINTS, "The 'digits' of projective give too many points.");
    integer(codes, "projective", "codes", 2n, this.outputs);
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

  static read(spec: Spec): ProjectiveSets {
    const [codes, order, digits] = numbers(spec, "projective", "codes", "order", "digits");
    integer(order, "projective", "order", 2n, MOST_POINTS);
    need(isPrime(order!), "The 'order' of projective must be a prime.");
    return new ProjectiveSets(codes!, order!, Number(integer(digits, "projective", "digits", 2n, 22n)));
  }
}

function bitRows(value: unknown, owner: string, name: string): string[] {
  const rows = texts(value, owner, name);
  const width = rows[0]?.length ?? 0;
  need(
    width >= 2 && rows.every((row) => row.length === width && /^[01]*$/.test(row)) && width * rows.length <= MOST_BITS,
    `The '${name}' of ${owner} must be equally long texts of 0 and 1, of two or more bits each.`,
  );
  spend((width * rows.length) >> 6);
  return rows;
}

/** The positions of all ones, then those of all zeros. */
function onesFirst(bits: string[]): bigint[] {
  const places = bits.map((_, place) => BigInt(place));
  return [...places.filter((place) => bits[Number(place)] === "1"), ...places.filter((place) => bits[Number(place)] === "0")];
}

/** Any sets of equal size: a row of 0 and 1 for each output. */
class ListedSets implements Sets {
  readonly codes: bigint;
  readonly outputs: bigint;
  readonly size: bigint;
  private readonly order: bigint[][];

  constructor(readonly rows: string[]) {
    const columns = Array.from(rows[0]!, (_, code) => rows.map((row) => row[code]!));
    const counts = columns.map((column) => column.filter((bit) => bit === "1").length);
    need(
      new Set(counts).size === 1 && !rows.every((row) => new Set(row).size === 1),
      "The 'rows' of listed sets must give every code as many outputs, not all the same.",
    );
    this.order = columns.map(onesFirst);
    this.codes = BigInt(columns.length);
    this.outputs = BigInt(rows.length);
    this.size = BigInt(counts[0]!);
  }

  member(code: bigint, output: bigint): boolean {
    return this.rows[Number(output)]![Number(code)] === "1";
  }

  output(code: bigint, index: bigint, inside: boolean): bigint {
    return this.order[Number(code)]![Number(index + (inside ? 0n : this.size))]!;
  }

  static read(spec: Spec): ListedSets {
    return new ListedSets(bitRows(take(spec, "listed", "rows")[0], "listed", "rows"));
  }
}

/** Shifts of bit patterns on a circle of cells. */
class ShiftSets implements Sets {
  readonly outputs: bigint;
  readonly size: bigint;
  private readonly cells: bigint;
  private readonly bits: bigint[];

  constructor(
    readonly codes: bigint,
    readonly patterns: string[],
  ) {
    need(!patterns.every((one) => new Set(one).size === 1), "The 'patterns' of shifts must have a 0 and a 1.");
    this.cells = BigInt(patterns[0]!.length);
    integer(codes, "shifts", "codes", 2n, this.cells);
    const all = [...patterns.join("")];
    this.bits = onesFirst(all);
    this.outputs = BigInt(all.length);
    this.size = BigInt(all.filter((bit) => bit === "1").length);
  }

  member(code: bigint, output: bigint): boolean {
    return this.patterns[Number(output / this.cells)]![Number(mod(code - (output % this.cells), this.cells))] === "1";
  }

  output(code: bigint, index: bigint, inside: boolean): bigint {
    const bit = this.bits[Number(index + (inside ? 0n : this.size))]!;
    return (bit / this.cells) * this.cells + mod(code - (bit % this.cells), this.cells);
  }

  static read(spec: Spec): ShiftSets {
    const [codes, patterns] = take(spec, "shifts", "codes", "patterns");
    return new ShiftSets(integer(codes, "shifts", "codes"), bitRows(patterns, "shifts", "patterns"));
  }
}

export const SETS: { [kind: string]: (spec: Spec) => Sets } = Object.assign(Object.create(null), {
  arcs: ArcSets.read,
  hadamard: HadamardSets.read,
  nodes: NodeSets.read,
  pool: PoolSets.read,
  projective: ProjectiveSets.read,
  listed: ListedSets.read,
  shifts: ShiftSets.read,
});

export class Block extends Numbered {
  readonly kind = "block";

  constructor(
    readonly sets: Sets,
    readonly inside: bigint,
  ) {
    super();
    informative(this.kind, units(inside), Fraction.of(sets.size, sets.outputs));
  }

  get inputs(): bigint {
    return this.sets.codes;
  }
  get outputs(): bigint {
    return this.sets.outputs;
  }
  get words(): number {
    return 2;
  }

  sample(code: bigint, coins: Coins): bigint {
    const inside = coins.flip(this.inside);
    const index = coins.below(inside ? this.sets.size : this.outputs - this.sets.size);
    return this.sets.output(code, index, inside);
  }

  ratio(): Fraction {
    const { size } = this.sets;
    return Fraction.of(this.inside * (this.outputs - size), (UNIT - this.inside) * size);
  }

  likelihood(report: bigint, code: bigint): Fraction {
    const { size } = this.sets;
    return this.sets.member(code, report)
      ? Fraction.of(this.inside, UNIT * size)
      : Fraction.of(UNIT - this.inside, UNIT * (this.outputs - size));
  }

  static read(fields: Spec): Block {
    const [sets, inside] = take(fields, "block", "sets", "inside");
    const [read, rest] = kindOf(sets, "kind", SETS, "The sets of a block channel");
    return new Block(read(rest), unit(inside, "block", "inside"));
  }
}

NODES.block = Block.read;

/** `block`: each code has a public set of outputs; with probability `inside` a uniform one of them. */
import { bitCount, ceilDiv, mod, UNIT } from "../core/bytes";
import type { Coins } from "../core/coins";
import { dot, MOST_ORDER } from "../core/field";
import { Fraction, spend, units } from "../core/fraction";
import { define, integer, kindFrom, listOf, ranged, text, valid, type Kinds } from "../core/read";
import { Channel, informative, NODES, unit } from "./channel";
import { skip } from "./finite";
import { field } from "./maps";

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
    valid((order & (order - 1n)) === 0n, "order");
    ranged(codes, 2n, groups * (order - 1n), "codes");
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
}

/** Arcs of a circle of outputs. */
class ArcSets implements Sets {
  constructor(
    readonly codes: bigint,
    readonly outputs: bigint,
    readonly size: bigint,
  ) {
    ranged(size, 1n, outputs - 1n, "size");
    ranged(codes, outputs, outputs + 1n, "codes");
  }

  member(code: bigint, output: bigint): boolean {
    return mod(output - code, this.outputs) < this.size;
  }

  output(code: bigint, index: bigint, inside: boolean): bigint {
    return (code + index + (inside ? 0n : this.size)) % this.outputs;
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
    ranged(width, 1n, codes - 1n, "width");
    this.outputs = ceilDiv(codes, width);
  }

  member(code: bigint, output: bigint): boolean {
    return output === code / this.width;
  }

  output(code: bigint, index: bigint, inside: boolean): bigint {
    const node = code / this.width;
    return inside ? node : skip(index, node);
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
    known: bigint,
  ) {
    const nodes = new NodeSets(codes, width).outputs;
    ranged(odd, 0n, BigInt(g === 2n), "odd");
    const vectors = field(g, digits, known);
    ranged(vectors, nodes, MOST, "digits");
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
}

/** Equally long texts of 0 and 1. */
function bitRows(value: unknown): string[] {
  const rows = listOf(text)(value);
  const width = rows[0]?.length ?? 0;
  valid(width >= 2 && rows.every((row) => row.length === width && /^[01]*$/.test(row)) && width * rows.length <= MOST_BITS);
  spend((width * rows.length) >> 6);
  return rows;
}

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
    valid(new Set(counts).size === 1 && !rows.every((row) => new Set(row).size === 1), "rows");
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
    valid(!patterns.every((one) => new Set(one).size === 1), "patterns");
    this.cells = BigInt(patterns[0]!.length);
    ranged(codes, 2n, this.cells, "codes");
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
}

export class Block extends Channel {
  /** How many outputs the code's set does not have. */
  private readonly others: bigint;

  constructor(
    readonly sets: Sets,
    readonly inside: bigint,
  ) {
    super(sets.codes, 2, sets.outputs);
    informative(units(inside), Fraction.of(sets.size, sets.outputs));
    this.others = sets.outputs - sets.size;
  }

  sample(code: bigint, coins: Coins): bigint {
    const inside = coins.flip(this.inside);
    return this.sets.output(code, coins.below(inside ? this.sets.size : this.others), inside);
  }

  ratio(): Fraction {
    return Fraction.of(this.inside * this.others, (UNIT - this.inside) * this.sets.size);
  }

  likelihood(report: bigint, code: bigint): Fraction {
    return this.sets.member(code, report)
      ? Fraction.of(this.inside, UNIT * this.sets.size)
      : Fraction.of(UNIT - this.inside, UNIT * this.others);
  }
}

export const SETS: Kinds<Sets> = new Map();
const codes = integer(2n, MOST);
const order = codes;
const any = integer();
export const HADAMARD = { order, groups: integer(1n, MOST) };
define(SETS, "arcs", ArcSets, { codes: any, outputs: codes, size: any });
define(SETS, "hadamard", HadamardSets, { codes: any, ...HADAMARD });
define(SETS, "nodes", NodeSets, { codes, width: any });
define(SETS, "pool", PoolSets, {
  ...{ codes, width: any, g: integer(2n, MOST_ORDER), digits: integer(1n, 24n), odd: any, polynomial: any },
});
define(SETS, "listed", ListedSets, { rows: bitRows });
define(SETS, "shifts", ShiftSets, { codes: any, patterns: bitRows });
define(NODES, "block", Block, { sets: (spec: unknown): Sets => kindFrom(SETS, spec, "kind", "block"), inside: unit });

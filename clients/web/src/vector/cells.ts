/** Views that few studies need: tables of groups, digits of numbers, and some numbers of a vector. */
import type { Code } from "../channel/channel";
import { floorDiv, mod } from "../core/bytes";
import { decimal } from "../core/decimal";
import type { Fraction } from "../core/fraction";
import { count, define, integer, listOf, valid } from "../core/read";
import { type Domain, DOMAINS, domainFrom, Pair, type Range } from "../domain/domain";
import { finite, numeric, NumberView, View } from "../domain/views";
import { Box, MOST_COORDINATES } from "./domains";

/** The cell of a group and a value, the value fastest. The last groups, reasons for giving no answer, are one cell each. */
class Cells extends View {
  private readonly groups: bigint;
  constructor(
    override readonly seen: Pair,
    reasons: bigint,
  ) {
    valid(seen instanceof Pair && reasons < seen.group.size!, "of");
    super(seen);
    this.groups = seen.group.size! - reasons;
    this.size = this.groups * finite(seen.value) + reasons; // the channel bounds it
  }
  encode(value: unknown): bigint {
    const { groups, seen } = this;
    const [group, number] = seen.encode(value);
    const size = seen.value.size!;
    return group < groups ? group * size + number : groups * size + group - groups;
  }
}

define(DOMAINS, "cells", Cells, { of: domainFrom, reasons: integer(0n) });

/** In which of some repeating cells a number lies. */
class Digit extends NumberView {
  constructor(
    seen: Range,
    readonly width: Fraction,
    readonly base: bigint,
    readonly origin: Fraction,
  ) {
    super(seen);
    valid(width.n > 0n, "width");
    this.size = base;
  }
  protected code(number: Fraction): bigint {
    const from = number.minus(this.origin).over(this.width);
    return mod(floorDiv(from.n, from.d), this.base);
  }
}

define(DOMAINS, "digit", Digit, { of: (spec: unknown): Range => numeric(spec), width: decimal, base: integer(2n, 1n << 20n), origin: decimal });

/** Some numbers of a vector, side by side. */
class VectorPart extends View {
  constructor(
    override readonly seen: Domain,
    readonly places: number[],
  ) {
    const all = seen.coordinates;
    valid(seen instanceof Box && all, "of");
    super(seen);
    valid(places.length && new Set(places).size === places.length && places.every((place) => place < all!.length), "places");
    this.coordinates = this.sideBySide = places.map((place) => all![place]!);
  }
  encode(value: unknown): Code[] {
    const numbers = this.seen.encode(value) as Code[];
    return this.places.map((place) => numbers[place]!);
  }
}

define(DOMAINS, "vector-part", VectorPart, { of: domainFrom, places: listOf(count(0n, MOST_COORDINATES - 1n)) });

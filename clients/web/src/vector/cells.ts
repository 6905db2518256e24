/** Views that few studies need: tables of groups, and digits of numbers. */
import { floorDiv, mod } from "../core/bytes";
import { decimal } from "../core/decimal";
import type { Fraction } from "../core/fraction";
import { define, integer, valid } from "../core/read";
import { DOMAINS, domainFrom, Pair, type Range } from "../domain/domain";
import { finite, numeric, NumberView, View } from "../domain/views";

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

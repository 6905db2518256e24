/** `sparing`: each sensitive code is reported with probability `other` by every code but itself; the rest reports the code. */
import { UNIT } from "../core/bytes";
import type { Coins } from "../core/coins";
import { infinite } from "../core/errors";
import { Fraction, units, ZERO } from "../core/fraction";
import { define, integer, listOf, ranged, rising, valid } from "../core/read";
import { Channel, informative, NODES, unit } from "../channel/channel";

class Sparing extends Channel {
  constructor(
    readonly k: bigint,
    readonly sensitive: bigint[],
    readonly other: bigint,
  ) {
    super(k, 2, k);
    const count = BigInt(sensitive.length);
    valid(count > 0n && count < k && rising(sensitive), "sensitive");
    sensitive.forEach((code) => ranged(code, 0n, k - 1n, "sensitive"));
    informative(units(UNIT - count * other), ZERO, "other");
    informative(this.own(sensitive[0]!), units(other), "other");
  }

  /** Where a code stands among the sensitive ones, and whether it is one. */
  private place(code: bigint): [number, boolean] {
    let place = 0;
    for (const one of this.sensitive) place += Number(one < code);
    return [place, this.sensitive[Math.min(place, this.sensitive.length - 1)] === code];
  }

  private own(code: bigint): Fraction {
    return units(UNIT - BigInt(this.sensitive.length - Number(this.place(code)[1])) * this.other);
  }

  sample(code: bigint, coins: Coins): bigint {
    const [place, own] = this.place(code);
    const others = this.sensitive.length - Number(own);
    const kept = coins.flip(UNIT - BigInt(others) * this.other);
    let index = Number(coins.below(kept ? 1n : BigInt(Math.max(others, 1))));
    index = Math.min(index + Number(own && index >= place), this.sensitive.length - 1);
    return kept ? code : this.sensitive[index]!;
  }

  ratio(): Fraction {
    return infinite();
  }

  override guardedRatio(sensitive: readonly bigint[]): Fraction | null {
    for (const code of sensitive) if (!this.place(code)[1]) return null;
    return this.own(this.sensitive[0]!).over(units(this.other));
  }

  likelihood(report: bigint, code: bigint): Fraction {
    if (report === code) return this.own(code);
    return this.place(report)[1] ? units(this.other) : ZERO;
  }
}

define(NODES, "sparing", Sparing, { k: integer(2n, 1n << 20n), sensitive: listOf(integer()), other: unit });

/** A report in words, where it can be read as one: the noise is easier to believe when it can be seen. */
import type { Channel } from "../channel/channel";
import { Bits } from "../channel/bits";
import { Then } from "../channel/compose";
import { Subset } from "../channel/finite";
import { Rounding } from "../channel/numeric";
import { decimalText } from "../core/decimal";
import { fromBytes, hex } from "../core/bytes";
import { Fraction } from "../core/fraction";
import type { Domain } from "../domain/domain";
import type { Mechanism } from "../mechanism";

/** What a channel reports about a code of a domain; null if it is not read code by code. */
function words(channel: Channel, domain: Domain, report: bigint): string | null {
  if (channel instanceof Subset && channel.w === 1n && domain.size === channel.k) return domain.label(report);
  const masks = channel instanceof Subset || (channel instanceof Bits && channel.encoding === "onehot");
  if (masks && domain.size !== null && domain.size <= 64n) {
    const held: string[] = [];
    for (let code = 0n; code < domain.size; code++) if ((report >> code) & 1n) held.push(domain.label(code));
    return held.length ? held.join(", ") : "none";
  }
  if (channel.kind === "sparing" && domain.size === channel.inputs) return domain.label(report);
  if (channel instanceof Then && channel.first instanceof Rounding && channel.second instanceof Subset && channel.second.w === 1n) {
    const { low, step } = channel.first;
    const origin = domain.numbers?.origin ?? Fraction.of(0n);
    const near = low.plus(step.times(Fraction.of(report))).plus(origin);
    return /^[25]*$/.test(factors(near.d)) ? decimalText(near) : `report ${report}`;
  }
  return null;
}

/** The prime factors of a denominator, as digits; anything but 2 and 5 has no finite decimal. */
function factors(d: bigint): string {
  let found = "";
  for (const prime of [2n, 5n])
    for (; d % prime === 0n; d /= prime) found += prime;
  return d === 1n ? found : "x";
}

export function readable({ channel, domain }: Mechanism, payload: Uint8Array): string {
  const report = fromBytes(payload);
  const plain = words(channel, domain, report);
  if (plain !== null) return plain;
  return payload.length > 8 ? `${payload.length} bytes, ${hex(payload.subarray(0, 8))}...` : `report ${report}`;
}

/** A report in words, where it can be read as one: the noise is easier to believe when it can be seen. */
import type { Channel } from "../channel/channel";
import { Bits } from "../channel/bits";
import { Then } from "../channel/compose";
import { Subset } from "../channel/finite";
import { Rounding } from "../channel/numeric";
import { decimalText } from "../core/decimal";
import { bitLength, fromBytes, hex } from "../core/bytes";
import { Fraction, ZERO } from "../core/fraction";
import type { Domain } from "../domain/domain";
import type { Mechanism } from "../mechanism";

/** What a channel reports about a code of a domain; null if it is not read code by code. */
function words(channel: Channel, domain: Domain, report: bigint): string | null {
  if (channel instanceof Subset && channel.w === 1n && domain.size === channel.k) return domain.label(report);
  const masks = channel instanceof Subset || (channel instanceof Bits && channel.encoding === "onehot");
  if (masks && domain.size !== null && domain.size <= 64n) {
    const held = Array.from({ length: Number(domain.size) }, (_, code) => BigInt(code)).filter((code) => (report >> code) & 1n);
    return held.map((code) => domain.label(code)).join(", ") || "none";
  }
  if (channel.kind === "sparing" && domain.size === channel.inputs) return domain.label(report);
  if (channel instanceof Then && channel.first instanceof Rounding && channel.second instanceof Subset && channel.second.w === 1n) {
    const { low, step } = channel.first;
    const origin = domain.numbers?.origin ?? ZERO;
    const near = low.plus(step.times(Fraction.of(report))).plus(origin);
    const finite = 10n ** BigInt(bitLength(near.d)) % near.d === 0n; // as a decimal
    return finite ? decimalText(near) : null;
  }
  return null;
}

export function readable({ channel, domain }: Mechanism, payload: Uint8Array): string {
  const report = fromBytes(payload);
  const long = payload.length > 8;
  return words(channel, domain, report) ?? (long ? `${payload.length} bytes, ${hex(payload.slice(0, 8))}...` : `report ${report}`);
}

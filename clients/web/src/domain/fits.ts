/** Which domains fit which channels: every answer has a code that the channel takes. */
import type { Channel } from "../channel/channel";
import type { Rounding } from "../channel/numeric";
import { need } from "../core/errors";
import { canonical } from "../core/json";
import { Circle, Pair, type Domain } from "./domain";

const FITS = "The domain of this mechanism does not fit its channel.";

function sideBySide(domains: readonly Domain[], channels: readonly Channel[]): void {
  need(domains.length === channels.length, FITS);
  domains.forEach((domain, place) => checkFits(domain, channels[place]!));
}

function sameRange(domain: Domain, grid: Rounding): boolean {
  const numbers = domain.numbers;
  return numbers !== null && numbers.low.equals(grid.low) && numbers.high.equals(grid.high);
}

export function checkFits(domain: Domain, channel: Channel): void {
  const grids = channel.roundings;
  const grid = channel.rounding;
  if (domain.sideBySide && ["each", "fakes"].includes(channel.kind)) sideBySide(domain.sideBySide, channel.parts);
  else if (domain instanceof Pair && channel.kind === "keyed") sideBySide([domain.group, domain.value], channel.parts);
  else if (domain.kind === "sparse") need(channel.sparse === canonical(domain.spec), FITS);
  else if (domain.ticks) need(channel.ticks === domain.ticks, FITS);
  else if (grids) {
    const parts = domain.coordinates;
    need(parts?.length === grids.length && parts.every((part, place) => sameRange(part, grids[place]!)), FITS);
  } else if (grid && domain instanceof Circle) need(grid.low.n === 0n && grid.high.equals(domain.high), FITS);
  else if (grid) need(sameRange(domain, grid), FITS);
  else need(domain.size === channel.inputs && channel.codesAreIndices, FITS);
}

/** The grids of the coordinates of a vector. */
import { channelFrom } from "../channel/channel";
import { Rounding } from "../channel/numeric";
import { canonical, type Plain } from "../core/json";
import { count, listOf, record, valid } from "../core/read";
import { MOST_COORDINATES } from "./domains";

/** A run of equal grids is written once. */
export function gridsFrom(spec: unknown): Rounding[] {
  const grids: Rounding[] = [];
  let before = "";
  for (const run of listOf((one: Plain) => one)(spec)) {
    const found = record(run, "a run of grids", { count: count(1n, MOST_COORDINATES), grid: channelFrom });
    const written = canonical((run as { grid: Plain }).grid);
    valid(found.grid instanceof Rounding && written !== before, "grid");
    valid(grids.length + found.count <= MOST_COORDINATES, "count");
    before = written;
    for (let i = 0; i < found.count; i++) grids.push(found.grid);
  }
  valid(grids.length > 0 && grids.every((grid) => grid.steps === grids[0]!.steps), "grids");
  return grids;
}

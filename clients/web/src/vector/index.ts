/** Nodes and domains for vectors, and coins from a seed. */
import type { Coins } from "../core/coins";
import "../more/index";
import * as kit from "../kit";
import { install } from "./install";
import { seededCoins } from "./seeded";

install(kit);

export function seeded(seed: number | bigint, bits?: number): Coins {
  return seededCoins(kit, seed, 0, bits);
}

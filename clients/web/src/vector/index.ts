/** Nodes and domains for vectors, `sparing`, tables of groups, and coins from a seed: a file of their own, loaded when a specification needs it. */
import type { Coins } from "../core/coins";
export * from "../index"; // so that all of it is one file, which both need
import "./cells";
import "./half_space";
import "./hints";
import "./place";
import "./sampled";
import "./signs";
import "./sparing";
import { SeededCoins } from "./seeded";

export function seeded(seed: number | bigint, bits?: number): Coins {
  return new SeededCoins(seed, bits);
}

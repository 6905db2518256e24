/** What is not in the main bundle, by the bundle that has it. */
export const MORE = [
  ...["chain", "cohorts", "each", "window", "noise", "sparing", "fakes", "histogram", "mix", "block"],
  ...["multiplier", "asked", "bloom", "rows", "permutations"],
  ...["clamp", "digit", "fields", "level", "powers", "prefix", "record", "select", "square", "text"],
];
export const VECTORS = ["half-space", "hints", "place", "sampled-coordinates", "signs", "box", "sparse"];

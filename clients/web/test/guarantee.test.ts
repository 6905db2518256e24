/** Guarantees: which texts are read, who accepts them, and which ratio they bound. */
import { expect, test } from "vitest";
import type { Channel } from "../src/channel/channel";
import { Fraction } from "../src/core/fraction";
import { readGuarantee } from "../src/guarantee";

const [ALL, PROTECTED] = [Fraction.of(9n), Fraction.of(2n)];

/** A channel whose code 3 reveals itself. */
const channel = {
  inputs: 4n,
  ratio: () => ALL,
  guardedRatio: (sensitive: readonly bigint[]) => (sensitive.includes(3n) ? null : PROTECTED),
} as unknown as Channel;

test("a pure guarantee is accepted unasked and bounds all reports", () => {
  const pure = readGuarantee("pure");
  expect(pure.acceptedBy([])).toBe(true);
  expect(pure.ratio(channel)).toBe(ALL);
});

test("a utility-optimised guarantee is accepted by name and bounds the reports that it protects", () => {
  for (const [written, ratio] of [["utility_optimised", ALL], ["utility_optimised(0,2)", PROTECTED]] as const) {
    const optimised = readGuarantee(written);
    for (const accept of [[], ["pure"], ["approximate"]]) expect(optimised.acceptedBy(accept)).toBe(false);
    expect(optimised.acceptedBy(["utility_optimised"])).toBe(true);
    expect(optimised.ratio(channel)).toBe(ratio);
  }
  expect(() => readGuarantee("utility_optimised(0,3)").ratio(channel)).toThrow("can reveal its value");
  for (const outside of ["(0,4)", "(4)"])
    expect(() => readGuarantee(`utility_optimised${outside}`).ratio(channel)).toThrow("'guarantee'");
});

test("other guarantees and other ways to write them are refused", () => {
  for (const [written, problem] of Object.entries({
    idealised: "with floats",
    approximate: "refused",
    "approximate(0.01)": "refused",
    ...Object.fromEntries(
      ["metric", "edge", "", "Pure", "pure()", "none"].map((one) => [one, "unknown"]),
    ),
    ...Object.fromEntries(
      ["()", "(0,0)", "(1,0)", "(00)", "(0,)", "(,)", "(a)", "(-1)", "(0", "0)", "(0, 1)", "(٠)", "(0.5)"].map((one) => [
        `utility_optimised${one}`,
        "unknown",
      ]),
    ),
  }))
    expect(() => readGuarantee(written), written).toThrow(problem);
  for (const wrong of [null, 1n, ["pure"]]) expect(() => readGuarantee(wrong)).toThrow();
});

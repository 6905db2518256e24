/** Guarantees: what a mechanism claims, one object per kind. A browser computes the loss of two kinds and refuses others. */
import type { Channel } from "./channel/channel";
import { refuse } from "./core/errors";
import type { Fraction } from "./core/fraction";
import { rising, text, valid } from "./core/read";

export const IDEALISED =
  "This guarantee is idealised: with floats the loss is unknown.";

export interface Guarantee {
  /** Whether a device accepts it that names these kinds; a pure guarantee needs no name. */
  acceptedBy(accept: readonly string[]): boolean;
  /** The largest likelihood ratio of a report that the guarantee protects, exactly. */
  ratio(channel: Channel): Fraction;
}

/** The ratio of every report is bounded. */
const PURE: Guarantee = {
  acceptedBy: () => true,
  ratio: (channel) => channel.ratio(),
};

/** A pure guarantee, except for reports that only one code, a non-sensitive one, can send; without codes all are sensitive. */
const utilityOptimised = (kind: string, sensitive: readonly bigint[]): Guarantee => ({
  acceptedBy: (accept) => accept.includes(kind),
  ratio(channel) {
    if (!sensitive.length) return channel.ratio();
    valid(sensitive.every((code) => code < channel.inputs), "guarantee");
    return channel.guardedRatio(sensitive) ?? refuse("A protected report can reveal its value.", "privacy");
  },
});

/** The guarantee of a canonical text. */
export function readGuarantee(spec: unknown): Guarantee {
  const written = text(spec);
  if (written === "pure") return PURE;
  if (written === "idealised") refuse(IDEALISED, "privacy");
  if (written.startsWith("approximate")) refuse("Approximate guarantees are refused.", "privacy");
  const [, kind, listed] = /^(utility_optimised)(?:\(((?:0|[1-9]\d{0,14})(?:,[1-9]\d{0,14})*)\))?$/.exec(written) ?? [];
  const codes = listed?.split(",").map(BigInt) ?? [];
  return kind && rising(codes) ? utilityOptimised(kind, codes) : refuse("This guarantee is unknown.", "privacy");
}

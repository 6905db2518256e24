/** Sealed reports, for studies that go through a shuffler: a file of its own, loaded when a manifest names a key. */
import { join, toBytes, unhex, utf8 } from "../core/bytes";
import type { Manifest } from "../manifest";
import { LARGEST, toCbor } from "../wire";
import { seal } from "./hpke";
export * from "../index"; // so that all of it is one file, which both need
export { seal };

const PURPOSE = "sottovoce sealed report 1|";

/** The length of what is sealed, the same for all arms and epochs of a manifest. */
function innerBytes({ prefix, arms, facts }: Manifest): number {
  const payloads = new Uint8Array(Math.max(...arms.map(({ mechanism }) => mechanism.payloadBytes)));
  const tokens = new Uint8Array(facts.collection.invitations ? 16 : 0);
  const numbers = { epoch: LARGEST, round: LARGEST, arm: LARGEST };
  return 2 + toCbor({ manifest: prefix, ...numbers, ids: new Uint8Array(16), payloads, tokens }).length;
}

/**
 * A batch of one report, which only the collector that the manifest names can read; all are equally long. The wave of a
 * repeated study stands before the seal, since the shuffler mixes each wave by itself.
 */
export function sealed(manifest: Manifest, epoch: number, plain: Uint8Array, secret: Uint8Array): Uint8Array {
  const filled = new Uint8Array(innerBytes(manifest));
  filled.set(join(toBytes(BigInt(plain.length), 2).reverse(), plain));
  const info = join(utf8(PURPOSE), unhex(manifest.hash));
  const wave = manifest.facts.repeat ? toBytes(BigInt(epoch), 2).reverse() : new Uint8Array();
  return join(manifest.prefix, wave, seal(unhex(manifest.facts.collection.sealedFor!), info, filled, secret));
}

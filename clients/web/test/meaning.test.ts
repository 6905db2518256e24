/** What reports say is what the package says, for every mechanism. */
import { expect, test } from "vitest";
import { unhex } from "../src/core/bytes";
import { meaning } from "../src/device/meaning";
import { Manifest } from "../src/manifest";
import "../src/channel/rare";
import "../src/tables/index";
import "../src/tables/keys";
import "../src/vector/index";
import { load } from "./vectors";

const mechanisms = load("mechanisms");
const study = {
  ...{ name: "study", owner: "owner", contact: "contact", purpose: "purpose", analysts: "", start: null, end: null },
  ...{ unit: "person", epsilon: "20", lifetime: "20", languages: ["en"] },
  collection: { epoch_days: 1, invitations: false, sealed_for: null, batch: null },
};

test.each(load("meanings").map((one: any) => [(one.spec ?? mechanisms[one.mechanism].spec).name, one] as const))("%s", (_, one: any) => {
  const { spec, messages } = one.spec ? one : mechanisms[one.mechanism];
  const arms = [{ name: "asked", weight: 1, mechanism: spec }];
  const plain = { version: 1, study, questions: [one.question], round: 1, quota: null, parent: null, root: null, chosen: false, arms };
  const manifest = Manifest.fromSpec(JSON.stringify(plain));
  messages.forEach((message: string, place: number) => {
    const bytes = unhex(message);
    const { answers, any } = meaning(manifest, 0, bytes.subarray(16), bytes.subarray(0, 16));
    const said = answers.map(({ group, from, to, cell }) => [group, from, to, ...(cell ? [cell] : [])]);
    expect({ answers: said, any }).toEqual(one.means[place]);
  });
});

/** A device that sends several reports at once, whose sending fails, or whose study is closed. */
import { beforeEach, expect, test, vi } from "vitest";
import { hex } from "../src/core/bytes";
import { openStore, type Store } from "../src/device/store";
import { Study } from "../src/device/study";
import { Manifest } from "../src/manifest";
import { load } from "./vectors";

const vector = load("manifests").good.find((one: any) => one.answers.length && !JSON.parse(one.content).chosen);
const plain = JSON.parse(vector.content);
const [ANSWERS] = vector.answers;
const names: string[] = plain.questions.map((one: any) => one.name);
let posted: Uint8Array[] = [];
let state = "open";

/** The manifest of the vector, about events. */
function changed(questions = plain.questions): Manifest {
  const { parent, root, round, ...rest } = plain;
  const study = { ...plain.study, unit: "event", lifetime: "20", start: null, end: null };
  return Manifest.fromSpec(JSON.stringify({ ...rest, study, questions, parent: null, root: null, round: 1 }));
}

async function opened(manifest = changed(), before?: Store): Promise<{ study: Study; store: Store }> {
  vi.stubGlobal("addEventListener", () => undefined);
  vi.stubGlobal("navigator", {});
  vi.stubGlobal("fetch", async (url: string, given?: RequestInit) => {
    if (url.endsWith("/manifest")) return new Response(manifest.content.slice(), { headers: { "Study-State": state } });
    posted.push(given!.body as Uint8Array);
    return Response.json({ accepted: 1, duplicates: 0, failed: [] });
  });
  const store = before ?? Object.assign(await openStore("none"), { lasting: true }); // in memory, which is enough here
  const token = manifest.facts.collection.invitations ? "0".repeat(32) : undefined;
  return { study: new Study(manifest, "https://collector.example/v1/studies/0", store, { invitation: token }), store };
}

beforeEach(() => {
  [posted, state] = [[], "open"];
});

test("reports that are sent at once have ids, noise and charges of their own", async () => {
  const { study, store } = await opened();
  const shown = await study.preview(ANSWERS);
  const sent = await Promise.all(Array.from({ length: 8 }, () => study.send(ANSWERS)));
  expect(new Set(sent.map((one) => one.id)).size).toBe(8);
  expect(new Set(posted.map(hex)).size).toBe(8);
  expect(posted.map(hex)).toContain(hex(shown.bytes));
  expect(sent[0]!.question).toBe(shown.question);
  expect((await store.change((stores) => stores.all("charges"))).length).toBe(8);
});

test("a send that fails neither loses nor uses again the noise that was shown", async () => {
  const { study, store } = await opened();
  const shown = hex((await study.preview(ANSWERS)).bytes);
  const change = store.change.bind(store);
  store.change = () => Promise.reject(new Error("the disk is full"));
  const failed = await Promise.allSettled([study.send(ANSWERS), study.send(ANSWERS)]);
  expect(failed.map((one) => one.status)).toEqual(["rejected", "rejected"]);
  store.change = change;
  expect(posted).toEqual([]);
  expect(hex((await study.preview(ANSWERS)).bytes)).toBe(shown);
  await study.send(ANSWERS);
  expect(posted.map(hex)).toEqual([shown]);
  expect(hex((await study.preview(ANSWERS)).bytes)).not.toBe(shown);
});

test("a report is added and replaces none", async () => {
  const store = await openStore("none");
  const add = (): Promise<void> => store.change((stores) => stores.add("reports", "id", 1));
  await add();
  await expect(add()).rejects.toThrow(/cannot keep/);
});

test("a closed study is not answered, and nothing is charged", async () => {
  const { study } = await opened();
  for (const said of ["closed", "done"]) {
    state = said;
    await expect(study.send(ANSWERS)).rejects.toMatchObject({ code: "closed" });
    expect(await study.state()).toBe("closed");
  }
  expect(await study.spent()).toEqual({ window: 0, study: 0, total: 0 });
  expect(posted).toEqual([]);
  state = "open";
  expect((await study.send(ANSWERS)).state).toBe("accepted");
});

test("a missing answer is named, and an attribute answers every question about it", async () => {
  const [first] = names;
  const { [first!]: mine, ...others } = ANSWERS;
  const { study } = await opened();
  plain.study.collection.ask_all = true;
  const { study: all } = await opened(changed(plain.questions));
  delete plain.study.collection.ask_all;
  expect((await all.asks()).sort()).toEqual([...names].sort());
  await expect(all.preview(others)).rejects.toThrow(`The question '${first}' needs an answer.`);
  const [drawn] = await study.asks();
  await expect(study.preview({})).rejects.toThrow(`The question '${drawn}' needs an answer.`);
  expect((await study.preview({ [drawn!]: ANSWERS[drawn!] })).question).toBe(drawn);
  const copy = { ...plain.questions[0], name: "again", attribute: first };
  const { arms } = plain;
  plain.arms = [{ ...arms[0], name: "again" }];
  const about = await opened(changed([...plain.questions, copy]));
  const preview = await about.study.preview({ [first!]: mine });
  expect([preview.question, preview.before]).toEqual(["again", mine]);
  expect(() => changed([...plain.questions, { ...copy, attribute: "nobody" }])).toThrow(/attribute/);
  expect(() => changed([...plain.questions, { ...copy, attribute: "again" }])).toThrow(/attribute/);
  plain.arms = arms;
});

test("the question is drawn before it is asked, and stays until a report is written", async () => {
  const { study, store } = await opened();
  const drawn = await study.asks();
  expect(drawn.length).toBe(1);
  for (let again = 0; again < 10; again++) {
    const { study: reloaded } = await opened(changed(), store);
    expect(await reloaded.asks()).toEqual(drawn);
    expect((await reloaded.preview(ANSWERS)).question).toBe(drawn[0]);
  }
  expect((await study.send(ANSWERS)).question).toBe(drawn[0]);
  const later = new Set<string>();
  for (let report = 0; report < 60; report++) {
    const { study: next } = await opened();
    later.add((await next.asks())[0]!);
  }
  expect(later).toEqual(new Set(names)); // every question is drawn by some devices
});

test("no send that fails and no second page makes a device draw its question again", async () => {
  const { study, store } = await opened();
  const drawn = await study.asks();
  for (let attempt = 0; attempt < 12; attempt++) {
    const failing = study.send({});
    const asked = study.asks();
    const preview = study.preview(ANSWERS);
    const second = study.send({});
    second.catch(() => undefined); // it is looked at below, after the others
    await expect(failing).rejects.toThrow(/needs an answer/);
    expect(await asked).toEqual(drawn);
    expect((await preview).question).toBe(drawn[0]);
    await expect(second).rejects.toThrow(/needs an answer/);
    expect((await study.preview(ANSWERS)).bytes).toEqual((await preview).bytes);
  }
  const { study: kept } = await opened(changed(), store);
  expect(await kept.asks()).toEqual(drawn);
  const [first, next] = await Promise.all([study.send(ANSWERS), study.send(ANSWERS)]);
  expect(first.question).toBe(drawn[0]);
  expect(next.id).not.toBe(first.id);
  await expect(kept.send(ANSWERS)).rejects.toMatchObject({ code: "outdated" }); // its question is used up
  const later = await kept.asks();
  expect(await study.asks()).toEqual(later);
  expect((await kept.send(ANSWERS)).question).toBe(later[0]);
});

test("another owner who claims the hash of a study has a study of their own on the device", async () => {
  const owned = (owner: string): Manifest => {
    const study = { ...plain.study, owner, unit: "person", start: null, end: null };
    return Manifest.fromSpec(JSON.stringify({ ...plain, study, round: 2, parent: "1".repeat(64), root: "0".repeat(64) }));
  };
  const { study: foreign, store } = await opened(owned("A stranger"));
  await foreign.send(ANSWERS);
  expect(await foreign.state()).toBe("answered");
  const { study: real } = await opened(owned("The clinic"), store);
  expect(await real.state()).toBe("open");
  expect((await real.spent()).study).toBe(0);
  expect(await real.sent()).toEqual([]);
  await foreign.optOut();
  expect((await real.send(ANSWERS)).state).toBe("accepted");
});

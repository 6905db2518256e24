/** The client and the package agree on every shared vector, bit by bit. */
import { expect, test } from "vitest";
import { channelFrom } from "../src/channel/channel";
import { fromBytes, hex, join, toBytes, unhex, utf8 } from "../src/core/bytes";
import type { Coins } from "../src/core/coins";
import { readDecimal, within } from "../src/core/decimal";
import { SottovoceError } from "../src/core/errors";
import { idWords } from "../src/core/field";
import { Fraction } from "../src/core/fraction";
import { sha256 } from "../src/core/sha256";
import { domainFrom } from "../src/domain/domain";
import { Manifest } from "../src/manifest";
import { Mechanism } from "../src/mechanism";
import { sealed, seal } from "../src/seal/index";
import { multiple } from "../src/seal/x25519";
import { fromCbor, fromJson, toCbor, toJson } from "../src/wire";
import { parse } from "../src/core/json";
import { code, hashed, isMessage, load, plainCode, seeded } from "./vectors";

function refused(work: () => unknown): boolean {
  try {
    work();
  } catch (problem) {
    if (problem instanceof SottovoceError) return true;
    throw problem;
  }
  return false;
}

function message(mechanism: Mechanism, value: unknown, coins: Coins): Uint8Array {
  if (!mechanism.memoised) return mechanism.randomize(value, coins);
  const cohort = mechanism.drawCohort(coins);
  return mechanism.answerFrom(mechanism.remember(value, coins, cohort), coins, cohort);
}

for (const [place, vector] of load("mechanisms").entries()) {
  test(`mechanism ${place}: ${vector.spec.name} at ${vector.spec.epsilon}`, () => {
    const written = JSON.stringify(vector.spec);
    if (vector.refused) {
      expect(() => Mechanism.fromSpec(written)).toThrow(/idealised/);
      return;
    }
    const mechanism = Mechanism.fromSpec(written);
    expect(mechanism.fingerprint).toBe(vector.fingerprint);
    expect(mechanism.channel.words).toBe(vector["words"]);
    expect(hashed(mechanism.ratio.text(), vector["ratio"])).toBe(vector["ratio"]);
    expect(mechanism.epsilon).toBe(Number(vector["epsilon"]));
    if (vector.forever !== null) expect(hashed(mechanism.ratioForever!.text(), vector.forever)).toBe(vector.forever);
    const coins = seeded(vector["seed"]);
    const sent: Uint8Array[] = [];
    for (let turn = 0; turn < vector.count; turn++)
      sent.push(message(mechanism, vector.answers[turn % vector.answers.length], coins));
    expect(sent.slice(0, vector.messages.length).map(hex)).toEqual(vector.messages);
    expect(hex(sha256(join(...sent)))).toBe(vector["digest"]);
    for (const one of sent) expect(isMessage(mechanism, one)).toBe(true);
    for (const bad of vector.bad) expect(isMessage(mechanism, unhex(bad))).toBe(false);
  });
}

test("random compositions of every node", () => {
  const vectors = load("channels");
  for (const vector of vectors) {
    const channel = channelFrom(parse(vector.channel).spec);
    const name = JSON.stringify(vector.channel);
    expect(channel.words, name).toBe(vector["words"]);
    expect(channel.payloadBits, name).toBe(vector.bits);
    expect(channel.inputs, name).toBe(BigInt(vector["inputs"]));
    const ratio = (): string => hashed(channel.ratio().text(), vector["ratio"] ?? "");
    if (vector["ratio"] === null) expect(refused(ratio), name).toBe(true);
    else expect(ratio(), name).toBe(vector["ratio"]);
    const coins = seeded(vector["seed"], 8);
    for (const [given, id, report] of vector.draws) {
      coins.begin(channel.words);
      expect(channel.sample(code(given), coins, idWords(unhex(id))), name).toBe(BigInt(report));
    }
    for (const [number, held] of vector["contains"]) expect(channel.contains(BigInt(number)), name).toBe(held);
  }
});

test("codes of values", () => {
  const { values, domains } = load("domains");
  for (const vector of domains) {
    const domain = domainFrom(parse(vector.domain).spec);
    values.forEach((value: unknown, place: number) => {
      const name = `${JSON.stringify(vector.domain)} of ${JSON.stringify(value)}`;
      if (vector.codes[place] === null) expect(refused(() => domain.encode(value)), name).toBe(true);
      else expect(plainCode(domain.encode(value)), name).toEqual(vector.codes[place]);
    });
  }
});

test("specifications that are refused", () => {
  for (const text of load("specs")) expect(refused(() => Mechanism.fromSpec(text)), text.slice(0, 400)).toBe(true);
});

test("a ratio and e**epsilon are compared exactly", () => {
  for (const [ratio, epsilon, holds] of load("budgets")) {
    const [n, d] = ratio.split("/").map(BigInt);
    expect(within(Fraction.of(n, d ?? 1n), readDecimal(epsilon)!), `${ratio} ${epsilon}`).toBe(holds);
  }
});

test("batches", () => {
  const { good, bad_cbor, bad_json } = load("wire");
  for (const vector of good) {
    const { manifest, ids, payloads, tokens, epoch, round, arm } = vector;
    const bytes = { manifest: unhex(manifest), ids: unhex(ids), payloads: unhex(payloads), tokens: unhex(tokens) };
    const batch = { ...bytes, epoch, round, arm };
    expect(hex(toCbor(batch))).toBe(vector.cbor);
    expect(hex(sha256(toJson(batch)))).toBe(vector.json);
    expect(fromCbor(toCbor(batch))).toEqual(batch);
    expect(fromJson(toJson(batch))).toEqual(batch);
  }
  for (const bad of bad_cbor) expect(refused(() => fromCbor(unhex(bad))), bad).toBe(true);
  for (const bad of bad_json) expect(refused(() => fromJson(utf8(bad))), bad).toBe(true);
});

test("manifests", () => {
  const { good, bad } = load("manifests");
  for (const vector of good) {
    const manifest = Manifest.fromSpec(vector.content);
    expect(manifest.hash).toBe(vector.hash);
    expect(manifest.study).toBe(vector.study);
    expect(hex(manifest.prefix)).toBe(vector.prefix);
    for (const [id, arm] of vector.arms) expect(manifest.armOf(unhex(id))).toBe(arm);
    expect(manifest.arms.map((_, arm) => manifest.experimentArm(arm)?.name ?? null)).toEqual(vector.experiment);
    for (const [limit, lifetime, holds] of vector.limits) {
      const check = (): void => manifest.check(readDecimal(limit), lifetime === null ? null : readDecimal(lifetime));
      expect(refused(check), `${limit} ${lifetime}`).toBe(!holds);
    }
    for (const [number, joined, waves, day] of vector.turns ?? []) {
      expect(manifest.turns(unhex(number), joined)).toEqual(waves);
      if (day) expect(manifest.begins(waves.at(-1))).toBe(day);
    }
    vector.answers.forEach((given: { [name: string]: unknown }, place: number) => {
      const codes = manifest.arms.map((_, arm) => manifest.encode(arm, given[manifest.asked(arm).key]));
      expect(codes.map(plainCode)).toEqual(vector.codes[place]);
    });
  }
  for (const text of bad) expect(refused(() => Manifest.fromSpec(text)), text.slice(0, 300)).toBe(true);
});

test("seals", () => {
  const { published, good, weak } = load("seals");
  const [key, info, plain, secret, known] = ["key", "info", "plain", "secret", "known"].map((one) => unhex(published[one]));
  expect(hex(seal(key!, info!, plain!, secret!, known))).toBe(published.sealed);
  for (const vector of good) {
    const manifest = Manifest.fromSpec(vector.content);
    expect(hex(sealed(manifest, vector.epoch, unhex(vector.plain), unhex(vector["secret"])))).toBe(vector.sealed);
  }
  for (const one of weak) expect(refused(() => seal(unhex(one), info!, plain!, secret!)), one).toBe(true);
});

test("the thousandth multiple of a point", () => {
  let [secret, point] = [toBytes(9n, 32), toBytes(9n, 32)];
  for (let turn = 0; turn < 1000; turn++) [secret, point] = [multiple(secret, point), secret];
  // RFC 7748, section 5.2.
  expect(hex(secret)).toBe("684cf59ba83309552800ef566f2f4d3c1c3887c49360e3875f2eb94d99532c51");
});

test("bytes and numbers go both ways", () => {
  expect(fromBytes(Uint8Array.of(1, 2))).toBe(513n);
});

/** From the outbox to the collector: the same bytes in every attempt, and no cookies, referrers or redirects. */
import { hex, unhex } from "../core/bytes";
import { randomBytes } from "../core/coins";
import { refuse } from "../core/errors";
import { sha256 } from "../core/sha256";
import { CBOR_TYPE, toCbor } from "../wire";
import type { Manifest } from "../manifest";
import type { Store } from "./store";

export const QUEUED = "queued";
export const ACCEPTED = "accepted";
export const WITHDRAWN = "withdrawn";
/** A report that was answered so is not sent again. */
const FINAL = [400, 401, 403, 404, 409, 410, 413, 415, 422];

/** One report that this device made. The answer before noise is not kept. */
export interface Entry {
  id: string;
  /** The key of the study on this device. */
  study: string;
  name: string;
  question: string;
  manifest: string;
  round: number;
  arm: number;
  epoch: number;
  /** The fingerprints of the round's mechanisms, if all of them keep a memo. */
  memos: string;
  token: string;
  /** The answer after noise, in hexadecimal. */
  payload: string;
  /** What is sent, in hexadecimal; the same in every attempt. */
  body: string;
  url: string;
  /** Whether only the collector can read it, and a shuffler takes it. */
  sealed: boolean;
  /** How many attempts may have reached the collector. */
  attempts: number;
  /** "queued", "accepted", "withdrawn", or why the collector refused it. */
  state: string;
}

/** Seals a report for the collector of a manifest, with a one-time key. */
export type Seal = (manifest: Manifest, epoch: number, plain: Uint8Array, secret: Uint8Array) => Uint8Array;

export function bodyOf(entry: Omit<Entry, "body">, manifest: Manifest, seal?: Seal, secret?: Uint8Array): string {
  const { round, arm } = entry;
  const epoch = manifest.tellsEpoch ? entry.epoch : 0;
  const bytes = { ids: unhex(entry.id), payloads: unhex(entry.payload), tokens: unhex(entry.token) };
  const plain = toCbor({ manifest: manifest.prefix, epoch, round, arm, ...bytes });
  return hex(seal ? seal(manifest, epoch, plain, secret ?? randomBytes(32)) : plain);
}

const PLAIN: RequestInit = {
  ...{ mode: "cors", credentials: "omit", redirect: "error", referrerPolicy: "no-referrer", cache: "no-store" },
};

/** A document, and the state of the study that the collector names beside its manifest. */
export async function get(url: string): Promise<{ content: Uint8Array; state: string | null }> {
  try {
    const reply = await fetch(url, PLAIN);
    if (reply.ok) return { content: new Uint8Array(await reply.arrayBuffer()), state: reply.headers.get("Study-State") };
  } catch {
    // said below
  }
  return refuse("The collector cannot be reached, or has no such study.", "network");
}

interface Outcome {
  state: string;
  /** Milliseconds after which the collector asks to be tried again. */
  wait: number;
}

async function post(entry: Entry): Promise<Outcome> {
  const body = unhex(entry.body) as Uint8Array<ArrayBuffer>;
  try {
    // A page that is closed meanwhile does not stop the request, if its body is short.
    const keepalive = body.length < 60_000;
    const headers = { "Content-Type": entry.sealed ? "application/octet-stream" : CBOR_TYPE };
    const reply = await fetch(`${entry.url}/${entry.sealed ? "sealed" : "reports"}`, { ...PLAIN, method: "POST", body, keepalive, headers });
    const wait = 1000 * (Number(reply.headers.get("Retry-After")) || 0);
    if (!reply.ok && !FINAL.includes(reply.status)) return { state: QUEUED, wait };
    const found = await reply.json().catch(() => null);
    return { state: reply.ok ? counted(found) : named(found?.code), wait };
  } catch {
    return { state: QUEUED, wait: 0 };
  }
}

function counted(found: { accepted?: unknown; duplicates?: unknown; failed?: { code?: unknown }[] } | null): string {
  if (Number(found?.accepted) + Number(found?.duplicates) === 1) return ACCEPTED;
  const code = Array.isArray(found?.failed) ? found.failed[0]?.code : undefined;
  // The clock of this device is ahead: the epoch will come.
  return code === undefined || code === "epoch_in_future" ? QUEUED : named(code);
}

/** The collector's word for a refusal, if it is one. */
function named(code: unknown): string {
  return typeof code === "string" && /^[a-z_]{1,40}$/.test(code) ? code : "refused";
}

/** Only one tab of an origin sends at a time, where the browser has locks. Ids make a second sending harmless anyway. */
function alone<T>(work: () => Promise<T>): Promise<T> {
  return (navigator.locks?.request("sottovoce outbox", work) as Promise<T> | undefined) ?? work();
}

/** Whether a collector takes no more reports. One that says nothing may take them, and a draft will. */
export const isClosed = (state: string | null): boolean => state === "closed" || state === "done";

export function online(): boolean {
  return navigator.onLine !== false;
}

export class Sender {
  constructor(
    private readonly store: Store,
    private readonly now: () => number,
    private readonly seal: Seal | undefined,
  ) {}

  /** Send what is queued; gives the milliseconds after which to try again, or null if nothing is left. */
  flush(manifest: Manifest): Promise<number | null> {
    return alone(async () => {
      const all = await this.store.change((stores) => stores.all<Entry>("reports"));
      let wait: number | null = null;
      for (const entry of all) {
        if (entry.state !== QUEUED || !entry.url || entry.study !== manifest.key) continue;
        const outcome = online() ? await this.deliver(entry, manifest) : { state: QUEUED, wait: 0 };
        if (outcome.state === QUEUED) wait = Math.max(wait ?? 0, outcome.wait);
      }
      return wait;
    });
  }

  /** The hash of the manifest that the collector takes reports of now; empty where it takes none, null if it is not reached. */
  async current(url: string): Promise<string | null> {
    try {
      const { content, state } = await get(`${url}/manifest`);
      return isClosed(state) ? "" : hex(sha256(content));
    } catch {
      return null;
    }
  }

  /** One attempt; a report that was never sent is first brought up to date. */
  private async deliver(entry: Entry, manifest: Manifest): Promise<Outcome> {
    const current = entry.attempts ? manifest.hash : await this.current(entry.url);
    if (current === null) return { state: QUEUED, wait: 0 };
    const begun = await this.store.change(async (stores) => {
      const now = await stores.get<Entry>("reports", entry.id);
      if (!now || now.state !== QUEUED) return null;
      if (!now.attempts) {
        if (current === now.manifest && current !== manifest.hash) return null; // a newer page sends it
        if (current !== now.manifest) {
          // The round or the study ended before anything was sent: nothing is lost.
          await stores.remove("reports", now.id);
          await stores.remove("charges", now.id);
          return null;
        }
        if (!manifest.facts.repeat) now.epoch = manifest.epoch(this.now()); // an answer to a wave stays one of that wave
        now.body = bodyOf(now, manifest, this.seal);
      }
      now.attempts++;
      await stores.put("reports", now.id, now);
      return now;
    });
    return begun ? this.attempt(begun) : { state: "replaced", wait: 0 };
  }

  /** An attempt that was written down before. */
  async attempt(entry: Entry): Promise<Outcome> {
    const outcome = await post(entry);
    if (outcome.state !== QUEUED)
      await this.store.change(async (stores) => {
        const now = await stores.get<Entry>("reports", entry.id);
        if (now?.state === QUEUED) await stores.put("reports", now.id, { ...now, state: outcome.state });
      });
    return outcome;
  }
}

/**
 * What a device keeps: its account, its reports, its memos. One transaction changes all of it or nothing, also where
 * several tabs of one origin are open. Without storage everything is kept in memory, until the page is closed.
 */
import { SottovoceError } from "../core/errors";

export type Name = "device" | "charges" | "reports" | "memos" | "studies";
const NAMES: Name[] = ["device", "charges", "reports", "memos", "studies"];

/** The stores inside of one transaction. */
export interface Stores {
  get<T>(store: Name, key: string): Promise<T | undefined>;
  all<T>(store: Name): Promise<T[]>;
  put(store: Name, key: string, value: unknown): Promise<void>;
  /** Write under a new key; refused where there is one already, so that no report or charge replaces another. */
  add(store: Name, key: string, value: unknown): Promise<void>;
  remove(store: Name, key: string): Promise<void>;
}

export interface Store {
  /** Whether what is written outlives the page. */
  readonly lasting: boolean;
  change<T>(work: (stores: Stores) => Promise<T>): Promise<T>;
}

function settled<T>(request: IDBRequest<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}

function unkept(): SottovoceError {
  return new SottovoceError("storage", "This browser cannot keep what was sent, so it does not answer.");
}

class Lasting implements Store {
  readonly lasting = true;
  constructor(private readonly database: IDBDatabase) {}

  async change<T>(work: (stores: Stores) => Promise<T>): Promise<T> {
    let transaction: IDBTransaction;
    try {
      // "strict": the promise is kept when the bytes are on the disk, before anything is sent.
      transaction = this.database.transaction(NAMES, "readwrite", { durability: "strict" });
    } catch {
      throw unkept(); // the participant has deleted the data of this site
    }
    const done = new Promise<void>((resolve, reject) => {
      transaction.oncomplete = () => resolve();
      transaction.onabort = transaction.onerror = () =>
        reject(unkept());
    });
    done.catch(() => undefined);
    const stores: Stores = {
      get: (store, key) => settled(transaction.objectStore(store).get(key)),
      all: (store) => settled(transaction.objectStore(store).getAll()),
      put: async (store, key, value) => void (await settled(transaction.objectStore(store).put(value, key))),
      add: async (store, key, value) => void (await settled(transaction.objectStore(store).add(value, key))),
      remove: async (store, key) => void (await settled(transaction.objectStore(store).delete(key))),
    };
    let found: T;
    try {
      found = await work(stores);
    } catch (problem) {
      try {
        transaction.abort();
      } catch {
        // it was aborted before
      }
      throw problem instanceof SottovoceError ? problem : unkept();
    }
    await done;
    return found;
  }
}

class Passing implements Store {
  readonly lasting = false;
  private readonly maps = new Map(NAMES.map((name) => [name, new Map<string, unknown>()]));
  private before: Promise<unknown> = Promise.resolve();

  change<T>(work: (stores: Stores) => Promise<T>): Promise<T> {
    const turn = this.before.then(async () => {
      const old = NAMES.map((name) => new Map(this.maps.get(name)!));
      const of = (name: Name): Map<string, unknown> => this.maps.get(name)!;
      try {
        return await work({
          get: async <V>(store: Name, key: string) => of(store).get(key) as V | undefined,
          all: async <V>(store: Name) => [...of(store).values()] as V[],
          put: async (store, key, value) => void of(store).set(key, value),
          add: async (store, key, value) => {
            if (of(store).has(key)) throw unkept();
            of(store).set(key, value);
          },
          remove: async (store, key) => void of(store).delete(key),
        });
      } catch (problem) {
        NAMES.forEach((name, place) => this.maps.set(name, old[place]!));
        throw problem;
      }
    });
    this.before = turn.catch(() => undefined);
    return turn;
  }
}

/** The browser's database, or memory where there is none: in some private windows, or where storage is switched off. */
export async function openStore(name: string): Promise<Store> {
  try {
    const request = indexedDB.open(name, 1);
    request.onupgradeneeded = () => NAMES.forEach((store) => request.result.createObjectStore(store));
    const database = await settled(request);
    database.onversionchange = () => database.close();
    return new Lasting(database);
  } catch {
    return new Passing();
  }
}

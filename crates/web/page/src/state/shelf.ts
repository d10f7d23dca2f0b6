// Keeps things in the browser that are large, or must be safe before something is done with them. Says whether it could:
// some browsers keep nothing.

const NAMES = ["postings", "pictures"] as const;
let opened: Promise<IDBDatabase> | undefined;

function open(): Promise<IDBDatabase> {
  opened ??= new Promise((done, failed) => {
    const asked = indexedDB.open("agent-world", 1);
    asked.onupgradeneeded = () => {
      for (const name of NAMES) asked.result.createObjectStore(name, { keyPath: "key" });
    };
    asked.onsuccess = () => done(asked.result);
    asked.onerror = () => failed(asked.error);
  });
  return opened;
}

export class Shelf<T extends { key: string }> {
  constructor(private readonly name: (typeof NAMES)[number]) {}

  /** Whether it is kept, also if the browser ends now. */
  async put(thing: T): Promise<boolean> {
    return (await this.within("readwrite", (store) => store.put(thing))) !== undefined;
  }

  async remove(key: string): Promise<void> {
    await this.within("readwrite", (store) => store.delete(key));
  }

  async get(key: string): Promise<T | undefined> {
    return (await this.within("readonly", (store) => store.get(key)))?.result as T | undefined;
  }

  async all(): Promise<T[]> {
    return ((await this.within("readonly", (store) => store.getAll()))?.result as T[] | undefined) ?? [];
  }

  /** Nothing where the browser cannot. */
  private async within<R>(
    mode: IDBTransactionMode,
    act: (store: IDBObjectStore) => IDBRequest<R>,
  ): Promise<IDBRequest<R> | undefined> {
    try {
      const transaction = (await open()).transaction(this.name, mode, { durability: "strict" });
      const asked = act(transaction.objectStore(this.name));
      await new Promise<void>((done, failed) => {
        transaction.oncomplete = () => done();
        transaction.onabort = () => failed(transaction.error);
      });
      return asked;
    } catch {
      return undefined;
    }
  }
}

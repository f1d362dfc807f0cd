// The durable side of the store: one SQLite file, written synchronously. Knows rows, not what they mean.
import { DatabaseSync } from "node:sqlite";
import { isDiskFull } from "../../../kube/server/disk-full.ts";

export interface Row {
  /** `<group>/<plural>`. */
  resource: string;
  namespace: string;
  name: string;
  version: number;
  json: string;
}

export interface Database {
  /** Everything there is, and the last version ever given out. */
  load(): { version: number; rows: Row[] };
  /** On return the row survives the death of this process. */
  put(row: Row): void;
  remove(key: Pick<Row, "resource" | "namespace" | "name">, version: number): void;
  close(): void;
}

const SCHEMA = `
CREATE TABLE IF NOT EXISTS object (
  resource TEXT NOT NULL, namespace TEXT NOT NULL, name TEXT NOT NULL, version INTEGER NOT NULL, json TEXT NOT NULL,
  PRIMARY KEY (resource, namespace, name)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS deleted (id INTEGER PRIMARY KEY CHECK (id = 1), version INTEGER NOT NULL);
INSERT OR IGNORE INTO deleted VALUES (1, 0);`;

/**
 * Opens (or makes) the file. In WAL mode with synchronous=NORMAL a statement that returned is in the kernel's hands: kill -9
 * loses nothing, a power cut may lose the last moments. The lock is exclusive, so a second server on one file fails at start.
 */
export function openDatabase(path: string): Database {
  const db = connect(path);
  const put = db.prepare(
    "INSERT INTO object VALUES (?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET version = excluded.version, json = excluded.json",
  );
  const remove = db.prepare("DELETE FROM object WHERE resource = ? AND namespace = ? AND name = ?");
  const raise = db.prepare("UPDATE deleted SET version = ?");

  return {
    load() {
      const rows = db.prepare("SELECT resource, namespace, name, version, json FROM object").all() as unknown as Row[];
      const { version } = db.prepare("SELECT version FROM deleted").get() as { version: number };
      return { version: rows.reduce((highest, row) => Math.max(highest, row.version), version), rows };
    },
    put(row) {
      put.run(row.resource, row.namespace, row.name, row.version, row.json);
    },
    remove(key, version) {
      db.exec("BEGIN");
      try {
        remove.run(key.resource, key.namespace, key.name);
        raise.run(version);
        db.exec("COMMIT");
      } catch (error) {
        // A full disk rolls back by itself.
        if (db.isTransaction) db.exec("ROLLBACK");
        throw new Error("removing a row failed", { cause: error });
      }
    },
    close: () => db.close(),
  };
}

const SQLITE_BUSY = 5;

function connect(path: string): DatabaseSync {
  const db = new DatabaseSync(path);
  try {
    db.exec(
      "PRAGMA locking_mode=EXCLUSIVE; PRAGMA busy_timeout=2000; PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;",
    );
    db.exec(SCHEMA);
    return db;
  } catch (cause) {
    db.close();
    throw new Error(`the database ${path} cannot be used: ${nextStep(cause)}`, { cause });
  }
}

function nextStep(cause: unknown): string {
  if (isDiskFull(cause)) return "its disk is full. Free some space, then start again";
  if (cause instanceof Error && (cause as { errcode?: unknown }).errcode === SQLITE_BUSY)
    return "another process uses it. Stop that one, then start again";
  return `${cause instanceof Error ? cause.message : "unknown error"}. Put a backup in its place, or remove it to start empty`;
}

// Whether this machine has PostgreSQL, where the broker of databases looks for it.
import { existsSync, readdirSync } from "node:fs";
import { findProgram } from "../../find-program.ts";

const DEBIAN = "/usr/lib/postgresql";

/** Undefined when it has. */
export function whyNoPostgres(): string | undefined {
  const isThere = (existsSync(DEBIAN) && readdirSync(DEBIAN).length > 0) || findProgram("pg_ctl");
  return isThere ? undefined : "this machine has no PostgreSQL";
}

// The version of this Cupola.
import { readFileSync } from "node:fs";
import { join } from "node:path";

/** As package.json says: the checkout's, or the one of the compiled release. */
export function cupolaVersion(): string {
  const text = readFileSync(join(import.meta.dirname, "..", "package.json"), "utf8");
  return (JSON.parse(text) as { version: string }).version;
}

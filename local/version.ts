// The version of this Cupola, and whether it may use the home of another one. Upgrades keep the home; there is no way back.
import { readFileSync } from "node:fs";
import { join } from "node:path";

/** As package.json says: the checkout's, or the one of the compiled release. */
export function cupolaVersion(): string {
  const text = readFileSync(join(import.meta.dirname, "..", "package.json"), "utf8");
  return (JSON.parse(text) as { version: string }).version;
}

/** @throws Error when a newer version has run in `dir`: it may have written what this one cannot read */
export function refuseNewerHome(
  dir: string,
  { version, newestVersion }: { version: string; newestVersion: string | undefined },
): void {
  if (newestVersion === undefined || !/^\d+\.\d+\.\d+/.test(newestVersion)) return;
  if (newestVersion.localeCompare(version, "en", { numeric: true }) <= 0) return;
  throw new Error(
    `${dir} was last used by Cupola ${newestVersion}, and this is ${version}, which may not understand it. Install that version again, as you installed it then (from its checkout: npm pack && npm install --global ./cupola-${newestVersion}.tgz), or start with another --home`,
  );
}

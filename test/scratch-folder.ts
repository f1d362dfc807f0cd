// A folder for everything that a run of vitest leaves in the temporary directory; it goes with the run, even what a killed test left.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Vitest's global setup: its workers inherit the environment. Returns the teardown. */
export function setup(): () => void {
  const folder = mkdtempSync(join(tmpdir(), "cupola-test-"));
  process.env["TMPDIR"] = folder;
  return () => rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
}

// An app's folder in a temporary place, for tests of buildpacks' decisions, which print nothing meanwhile.
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, vi } from "vitest";

/** Contents by path below the app's folder. */
export type Files = Record<string, string>;

/** Set before each test of the file that calls `useAppFolder`. */
export interface AppFolder {
  path: string;
  write(files: Files): Promise<void>;
}

/** A new, empty folder for each test, removed after it. */
export function useAppFolder(): AppFolder {
  const folder: AppFolder = {
    path: "",
    write: async (files) => {
      for (const [path, content] of Object.entries(files)) {
        await mkdir(dirname(join(folder.path, path)), { recursive: true });
        await writeFile(join(folder.path, path), content);
      }
    },
  };
  beforeEach(async () => {
    folder.path = await mkdtemp(join(tmpdir(), "cupola-decisions-"));
    vi.spyOn(console, "log").mockImplementation(() => undefined);
  });
  afterEach(async () => {
    vi.restoreAllMocks();
    await rm(folder.path, { recursive: true, force: true });
  });
  return folder;
}

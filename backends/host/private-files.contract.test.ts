// Real overlays, where this user may mount them.
import { execFile } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, describe, expect, it } from "vitest";
import { findIsolation, type FilesPlace } from "./private-files.ts";
import { removeFolder } from "./remove-folder.ts";

const home = mkdtempSync(join(tmpdir(), "cupola-files-"));
const isolate = await findIsolation(home);
afterAll(() => removeFolder(home));

function makeRoot(name: string): string {
  const root = join(home, name);
  mkdirSync(join(root, "app", "data"), { recursive: true });
  writeFileSync(join(root, "app", "file"), "as built\n");
  writeFileSync(join(root, "app", "data", "old"), "");
  return root;
}

/** Output of a shell that runs in the app's folder. */
async function run(script: string, { root, changes }: FilesPlace, env: Record<string, string> = {}): Promise<string> {
  const command = ["/bin/sh", "-c", script];
  const [file = "", ...args] = (await isolate?.({ command, cwd: join(root, "app") }, { root, changes })) ?? command;
  return (await promisify(execFile)(file, args, { env: { PATH: "/usr/bin:/bin", ...env }, timeout: 60_000 })).stdout;
}

describe("findIsolation", () => {
  it("finds nothing in a folder whose name cannot be an option of a mount, and leaves nothing there", async () => {
    const folder = join(home, "a,b");
    mkdirSync(folder);
    expect(await findIsolation(folder)).toBeUndefined();
    expect(readdirSync(folder)).toEqual([]);
  });
});

describe.skipIf(!isolate)("a start with files of its own", () => {
  it("finds the root as it was built, and changes it for itself alone", async () => {
    const root = makeRoot("alone");
    const script = 'cat file; echo changed > file; echo x > new; rm data/old; ls; cat file; pwd; echo "$PWD"';
    for (const start of ["first", "second"])
      expect((await run(script, { root, changes: join(home, start) })).split("\n").slice(0, -1)).toEqual([
        "as built",
        "data",
        "file",
        "new",
        "changed",
        join(root, "app"),
        join(root, "app"),
      ]);
    expect(readFileSync(join(root, "app", "file"), "utf8")).toBe("as built\n");
    expect([existsSync(join(root, "app", "new")), existsSync(join(root, "app", "data", "old"))]).toEqual([false, true]);
  });

  it("leaves nothing behind once its changes are removed", async () => {
    const root = makeRoot("removed");
    const changes = join(home, "gone");
    await run("echo x > new; mkdir closed && touch closed/in && chmod 0 closed", { root, changes });
    await removeFolder(changes);
    expect(existsSync(changes)).toBe(false);
  });

  it("starts also when the app's environment has libraries that mount cannot load", async () => {
    const place = { root: makeRoot("preload"), changes: join(home, "preloaded") };
    const libraries = join(home, "libraries");
    mkdirSync(libraries);
    writeFileSync(join(libraries, "libmount.so.1"), "");
    expect(await run("cat file", place, { LD_LIBRARY_PATH: libraries })).toBe("as built\n");
  });
});

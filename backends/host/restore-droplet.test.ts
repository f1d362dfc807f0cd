// A root belongs to the space and digest that filled it first. No other droplet reads its files or replaces them.
import { chmod, mkdir, mkdtemp, readdir, readFile, rename, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { packDirectory } from "../../blobs/archive/tar.ts";
import type { BlobStore } from "../../blobs/blob-store.ts";
import { createDirectoryStore } from "../../blobs/directory/directory-store.ts";
import { restoreDroplet, unmarkRestored } from "./restore-droplet.ts";
import { claimRoot, ownerFile, releaseRoot, writeOwner } from "./root-owner.ts";

let home: string;
let droplets: string;
let root: string;
let store: BlobStore;

beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), "cupola-restore-"));
  droplets = join(home, "droplets");
  root = join(droplets, "build-1");
  store = await createDirectoryStore(join(home, "blobs"));
  await mkdir(droplets);
});
afterEach(() => rm(home, { recursive: true, force: true }));

async function put(space: string, content: string): Promise<string> {
  const source = await mkdtemp(join(home, "source-"));
  await mkdir(join(source, "app"));
  await writeFile(join(source, "app", "file"), content);
  return (await store.put(space, "droplet", packDirectory(source, ["app"]), { maxBytes: 1 << 20 })).digest;
}
const restore = (space: string, digest: string, at = root): Promise<void> =>
  restoreDroplet(store, { space, digest, root: at }, droplets);
const content = (): Promise<string> => readFile(join(root, "app", "file"), "utf8");

describe("restoreDroplet", () => {
  test("a droplet of another space with the same root is refused, and the running files stay", async () => {
    const victim = await put("victim", "mine");
    await restore("victim", victim);
    await expect(restore("attacker", await put("attacker", "theirs"))).rejects.toThrow(/belongs to another droplet/);
    expect(await content()).toBe("mine");
    await restore("victim", victim);
  });

  test("another space with the same digest gets no access to the files", async () => {
    await restore("victim", await put("victim", "mine"));
    // Equal content in another space is another droplet.
    await expect(restore("attacker", await put("attacker", "mine"))).rejects.toThrow(/belongs to another droplet/);
  });

  test("another droplet of the same space with the same root is refused", async () => {
    await restore("one", await put("one", "first"));
    await expect(restore("one", await put("one", "second"))).rejects.toThrow(/belongs to another droplet/);
    expect(await content()).toBe("first");
  });

  test("a root whose mark is taken away is unpacked anew, without what was added there", async () => {
    const digest = await put("one", "as built");
    await restore("one", digest);
    await writeFile(join(root, "app", "file"), "changed");
    await writeFile(join(root, "app", "added"), "");
    await restore("one", digest);
    expect(await content()).toBe("changed");
    await unmarkRestored(root);
    await restore("one", digest);
    expect([await content(), await readdir(join(root, "app"))]).toEqual(["as built", ["file"]]);
  });

  // Root removes such a folder in any case: run by a user, this fails if the old root is removed without its rights.
  test("a root is unpacked anew also when a program left a folder without rights there", async () => {
    const digest = await put("one", "as built");
    await restore("one", digest);
    await mkdir(join(root, "app", "closed", "in"), { recursive: true });
    await chmod(join(root, "app", "closed"), 0);
    await unmarkRestored(root);
    await restore("one", digest);
    expect([await content(), (await readdir(droplets)).filter((name) => name.startsWith(".old-"))]).toEqual([
      "as built",
      [],
    ]);
  });

  test("an emptied root still belongs to its first owner", async () => {
    await restore("victim", await put("victim", "mine"));
    await rm(root, { recursive: true });
    await expect(restore("attacker", await put("attacker", "theirs"))).rejects.toThrow(/belongs to another droplet/);
  });

  test("a root under construction belongs to its Staging, which may build again", async () => {
    await claimRoot({ root, space: "victim", staging: "uid-1" });
    await mkdir(join(root, "app"), { recursive: true });
    await expect(restore("attacker", await put("attacker", "theirs"))).rejects.toThrow(/belongs to another droplet/);
    await claimRoot({ root, space: "victim", staging: "uid-1" });
    await expect(claimRoot({ root, space: "victim", staging: "uid-2" })).rejects.toThrow(/belongs to another droplet/);
    await expect(claimRoot({ root, space: "attacker", staging: "uid-1" })).rejects.toThrow(/belongs to another/);
  });

  test("a Staging cannot build in a root with another droplet", async () => {
    await restore("victim", await put("victim", "mine"));
    await expect(claimRoot({ root, space: "attacker", staging: "uid-9" })).rejects.toThrow(
      /belongs to another droplet/,
    );
  });

  test("a space restores the droplet of its own build", async () => {
    const digest = await put("victim", "mine");
    await claimRoot({ root, space: "victim", staging: "uid-1" });
    await writeOwner({ root, space: "victim", staging: "uid-1", digest });
    await restore("victim", digest);
    expect(await content()).toBe("mine");
  });

  test.each(["build-1/", "x/../build-1", "./build-1", ".build-1", "build-1/app", "../droplets/build-1", "build_1"])(
    "the root %s is refused",
    async (name) => {
      await restore("victim", await put("victim", "mine"));
      await expect(restore("victim", await put("victim", "mine"), `${droplets}/${name}`)).rejects.toThrow(/restage/);
    },
  );

  test("a root that differs only in case is refused", async () => {
    await restore("victim", await put("victim", "mine"));
    await expect(restore("attacker", await put("attacker", "theirs"), join(droplets, "BUILD-1"))).rejects.toThrow(
      /belongs to another droplet/,
    );
  });

  test("a root that is a symbolic link is refused", async () => {
    await restore("victim", await put("victim", "mine"));
    await symlink(root, join(droplets, "link"));
    await expect(restore("attacker", await put("attacker", "theirs"), join(droplets, "link"))).rejects.toThrow(
      /no folder of its own/,
    );
    expect(await content()).toBe("mine");
  });

  test("of several spaces that claim a new root at once exactly one gets it", async () => {
    const spaces = ["a", "b", "c", "d"];
    const digests = await Promise.all(spaces.map((space) => put(space, space)));
    const results = await Promise.allSettled(spaces.map((space, i) => restore(space, digests[i] ?? "")));
    const winners = spaces.filter((_, i) => results[i]?.status === "fulfilled");
    expect(winners).toEqual([await content()]);
  });

  test("a space without the content claims nothing", async () => {
    const digest = await put("victim", "mine");
    await expect(restore("attacker", digest)).rejects.toThrow(/has no content/);
    await restore("victim", digest);
  });

  test("a root older than records belongs to a space that has its content", async () => {
    const digest = await put("victim", "mine");
    await restore("victim", digest);
    await releaseRoot(root);
    await expect(restore("attacker", digest)).rejects.toThrow(/has no content/);
    await expect(restore("attacker", await put("attacker", "theirs"))).rejects.toThrow(/belongs to another droplet/);
    await restore("victim", digest);
  });

  test("the rest of an interrupted unpacking is replaced by the owner's droplet", async () => {
    await mkdir(join(root, "app"), { recursive: true });
    await writeFile(join(root, "app", "half"), "");
    const digest = await put("one", "whole");
    await restore("one", digest);
    await rename(join(root, ".droplet"), join(root, ".gone"));
    await restore("one", digest);
    expect(await readdir(join(root, "app"))).toEqual(["file"]);
  });

  test("a damaged record refuses every droplet, and the error names the file", async () => {
    await writeFile(ownerFile(root), "");
    await expect(restore("one", await put("one", "x"))).rejects.toThrow(ownerFile(root));
  });
});

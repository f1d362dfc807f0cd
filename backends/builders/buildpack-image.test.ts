// Reading an image of buildpacks, and refusals of one.
import { mkdtempDisposable, mkdir, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { parseBuildpackage, takeBuildpacks, withBuildpackImage } from "./buildpack-image.ts";
import { StagingFailure } from "./staging-failure.ts";

const fetch = (reference: string): Promise<void> => withBuildpackImage(reference, {}, () => Promise.resolve());

test.each([
  "user:hunter2@registry.example/team/bp:1",
  "hunter2@registry.example/team/bp",
  "user:hun/ter2@registry.example/team/bp",
  `user:hunter2@registry.example/team/bp@sha256:${"0".repeat(64)}`,
])("%s is refused without its password", async (reference) => {
  const refusal = await fetch(reference).catch(String);
  expect(refusal).toContain("docker://***:***@registry.example/team/bp");
  expect(refusal).toContain("no user name or password");
  expect(refusal).not.toContain("ter2");
});

test("another wrong name is quoted", async () => {
  await expect(fetch("No Name@sha256:0")).rejects.toThrow('"No Name@sha256:0" is no name of an image');
});

test.each([undefined, "no JSON", "null", "[]", "{}", '{"id":"a/b","version":1}', '{"id":"","version":"1"}'])(
  "the label %s names no buildpack",
  (label) => {
    const read = (): unknown => parseBuildpackage("registry.example/team/app", label);
    expect(read).toThrow(StagingFailure);
    expect(read).toThrow(/registry\.example\/team\/app is no buildpack: .* Next: name an image/);
  },
);

test("a label names a buildpack", () => {
  const label = JSON.stringify({ id: "a/b", version: "1.0.0", stacks: [] });
  expect(parseBuildpackage("team/bp", label)).toEqual({ id: "a/b", version: "1.0.0" });
});

test("a file where a buildpack belongs is the image's fault", async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), "cupola-bp-image-"));
  const root = join(folder.path, "layer", "cnb", "buildpacks");
  await mkdir(root, { recursive: true });
  await writeFile(join(root, "README"), "");
  const taken = takeBuildpacks(join(folder.path, "layer"), folder.path, ({ id }) => id);
  await expect(taken).rejects.toThrow(StagingFailure);
  await expect(taken).rejects.toThrow("/cnb/buildpacks/README is a file");
});

// What is read of an image of buildpacks, and what the refusal of one says.
import { expect, test } from "vitest";
import { withBuildpackImage } from "./buildpack-image.ts";

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

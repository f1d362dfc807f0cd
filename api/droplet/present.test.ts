// Droplets as CF shows them.
import { expect, test } from "vitest";
import { aDroplet, anApp } from "../../crds/testing/objects.ts";
import { cacheOf } from "../cache/testing/cache-of.ts";
import { presentDroplet } from "./present.ts";

const present = (spec: object, hidden?: string): object =>
  presentDroplet(cacheOf(anApp()), aDroplet(spec), "https://api", hidden);

test("an image has no buildpacks, no stack and no download", () => {
  const droplet = present({ lifecycleType: "docker", stack: "cflinuxfs4" });
  expect(droplet).toMatchObject({ image: "example.com/x:1", buildpacks: null, stack: null, checksum: null });
  expect(droplet).not.toHaveProperty("links.download");
});

test("start commands are hidden from callers who may not see secrets", () => {
  const secret = { lifecycleType: "buildpack", processTypes: { web: "run --password x" } };
  expect(present(secret)).toMatchObject({ process_types: { web: "run --password x" } });
  expect(JSON.stringify(present(secret, "[HIDDEN]"))).not.toContain("password");
});

test("a buildpack's URL is shown without its password", () => {
  const buildpacks = [{ name: "https://user:secret@example.com/pack" }];
  expect(JSON.stringify(present({ lifecycleType: "buildpack", buildpacks }))).not.toContain("secret");
});

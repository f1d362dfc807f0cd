// Support of classes for droplets that are files.
import { expect, test } from "vitest";
import type { BackendClass } from "./backend-class.ts";
import { findDropletBase, findDropletFolder, toDropletCapabilities } from "./droplet-place.ts";

const aClass = (capabilities: Record<string, string>): BackendClass => ({ status: { capabilities } }) as BackendClass;
const images = { runImage: "run@sha256:a", builderImage: "builder@sha256:b" };
const said = { ...toDropletCapabilities(images, { uid: 1001, gid: 1000 }), platformAPI: "0.14" };

test("images and owner are found as a class said them", () => {
  expect(findDropletBase([aClass({}), aClass(said)])).toEqual({
    base: { ...images, platformAPI: "0.14" },
    owner: { uid: 1001, gid: 1000 },
  });
  expect(findDropletFolder([aClass({}), aClass({ dropletFolder: "/x" })])).toBe("/x");
});

test.each<[string, Record<string, string>]>([
  ["without a run image", toDropletCapabilities({ ...images, runImage: undefined }, { uid: 1, gid: 1 })],
  ["with a user who is no number", { ...said, dropletUser: "root:root" }],
  ["that says nothing", {}],
])("a class %s takes none", (_what, capabilities) => {
  expect(findDropletBase([aClass(capabilities)])).toBeUndefined();
  expect(findDropletFolder([aClass(capabilities)])).toBeUndefined();
});

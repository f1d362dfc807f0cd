// The apps and spaces that show the violations of an object.
import { expect, test } from "vitest";
import { SecurityGroup } from "../security-group/security-group.ts";
import { Space } from "../space/space.ts";
import { anApp, aProcess, aRoute, makeObject } from "../testing/objects.ts";
import { keyOfShown, listShownOn } from "./shown-on.ts";

const destinations = [
  { app: "shop", namespace: "", process: "web", port: 0 },
  { app: "shop", namespace: "", process: "admin", port: 0 },
  { app: "other", namespace: "acme-prod", process: "web", port: 0 },
];

test.each([
  [anApp(), ["App acme-dev/shop"]],
  [makeObject(Space, "dev", { spec: {}, metadata: { namespace: "acme" } }), ["Space acme/dev"]],
  [aProcess({ appRef: { name: "store" } }), ["App acme-dev/store"]],
  [aRoute({ destinations }), ["App acme-dev/shop", "App acme-prod/other"]],
  [aRoute(), []],
  [makeObject(SecurityGroup, "g", { spec: { name: "g" } }), []],
])("%#", (object, ids) => {
  expect(listShownOn(object)).toEqual(ids);
});

test("an id is of one kind", () => {
  expect(keyOfShown("App", "App acme-dev/shop")).toEqual({ namespace: "acme-dev", name: "shop" });
  expect(keyOfShown("Space", "App acme-dev/shop")).toBeUndefined();
});

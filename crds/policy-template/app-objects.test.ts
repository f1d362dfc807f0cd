// The apps that an object belongs to.
import { expect, test } from "vitest";
import { SecurityGroup } from "../security-group/security-group.ts";
import { anApp, aProcess, aRoute, makeObject } from "../testing/objects.ts";
import { appKeysOf } from "./app-objects.ts";

const destinations = [
  { app: "shop", namespace: "", process: "web", port: 0 },
  { app: "shop", namespace: "", process: "admin", port: 0 },
  { app: "other", namespace: "acme-prod", process: "web", port: 0 },
];

test.each([
  [anApp(), ["acme-dev/shop"]],
  [aProcess({ appRef: { name: "store" } }), ["acme-dev/store"]],
  [aRoute({ destinations }), ["acme-dev/shop", "acme-prod/other"]],
  [aRoute(), []],
  [makeObject(SecurityGroup, "g", { spec: { name: "g" } }), []],
])("%#", (object, keys) => {
  expect(appKeysOf(object)).toEqual(keys);
});

// Apps as CF shows them.
import { expect, test } from "vitest";
import { Stack } from "../../crds/stack/stack.ts";
import { aDroplet, anApp, aSpace, makeObject } from "../../crds/testing/objects.ts";
import { cacheOf } from "../cache/testing/cache-of.ts";
import { presentApp } from "./present.ts";

const base = "https://api";
const stack = makeObject(Stack, "linux", { spec: { name: "cflinuxfs4", default: true } });

test.each<[string, object, object]>([
  ["without a name of its own has its object's", {}, { name: "shop" }],
  ["has the CF name of its spec", { name: "Shop of Ann" }, { name: "Shop of Ann" }],
  ["is stopped at first", {}, { state: "STOPPED" }],
  ["is started", { state: "Started" }, { state: "STARTED" }],
  ["of an image has no buildpacks", { lifecycle: { type: "docker" } }, { lifecycle: { type: "docker", data: {} } }],
  [
    "from source has the default stack",
    {},
    { lifecycle: { type: "buildpack", data: { buildpacks: [], stack: "cflinuxfs4" } } },
  ],
  [
    "has its own stack, and buildpacks without their passwords",
    { lifecycle: { type: "cnb", buildpacks: ["https://ann:secret@example.com/pack"], stack: "own" } },
    { lifecycle: { type: "cnb", data: { buildpacks: [expect.not.stringContaining("secret")], stack: "own" } } },
  ],
  [
    "has no current droplet when its reference dangles",
    { droplet: { name: "deleted" } },
    { relationships: { current_droplet: { data: { guid: null } } } },
  ],
])("an app %s", (_what, spec, expected) => {
  expect(presentApp(cacheOf(aSpace(), stack), anApp(spec), base)).toMatchObject(expected);
});

test("its space, droplet and links", () => {
  const presented = presentApp(cacheOf(aSpace(), aDroplet({}, "d1")), anApp({ droplet: { name: "d1" } }), base);
  expect(presented).toMatchObject({
    guid: "uid-shop",
    created_at: "2026-01-01T00:00:00Z",
    relationships: { space: { data: { guid: "uid-dev" } }, current_droplet: { data: { guid: "uid-d1" } } },
    links: {
      self: { href: "https://api/v3/apps/uid-shop" },
      space: { href: "https://api/v3/spaces/uid-dev" },
      start: { href: "https://api/v3/apps/uid-shop/actions/start", method: "POST" },
    },
  });
});

test("the platform's labels and annotations are no metadata of CF", () => {
  const labels = { "cupola.dev/guid": "g", "app.kubernetes.io/name": "x", team: "blue" };
  const app = anApp(
    {},
    { metadata: { labels, annotations: { "kubectl.kubernetes.io/last-applied": "{}", note: "n" } } },
  );
  expect(presentApp(cacheOf(), app, base)).toMatchObject({
    metadata: { labels: { team: "blue" }, annotations: { note: "n" } },
  });
  expect(presentApp(cacheOf(), app, base)).not.toHaveProperty(["metadata", "labels", "cupola.dev/guid"]);
});

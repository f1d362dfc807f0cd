// The objects of a manifest's application.
import { expect, test } from "vitest";
import { renderApp } from "./render.ts";

const domains = { domains: ["apps.example"], defaultDomain: "apps.example" };

/** Specs by kind, of the first object of each. */
function specs(app: object): Record<string, object> {
  const objects = renderApp({ name: "shop", ...app }, domains);
  return Object.fromEntries(objects.toReversed().map(({ kind, spec }) => [kind, spec]));
}

test("labels and annotations are the App's; null removes one", () => {
  const metadata = { labels: { team: "a", old: null }, annotations: { note: 7 } };
  const [app] = renderApp({ name: "shop", metadata }, domains);
  expect(app?.metadata).toEqual({ name: "shop", labels: { team: "a" }, annotations: { note: "7" } });
});

test("an image is a Package, whose name changes with it", () => {
  const [, one] = renderApp({ name: "shop", docker: { image: "ghcr.io/acme/shop:1", username: "ci" } }, domains);
  const [, other] = renderApp({ name: "shop", docker: { image: "ghcr.io/acme/shop:2" } }, domains);
  expect(one).toMatchObject({
    kind: "Package",
    spec: { appRef: { name: "shop" }, type: "docker", image: "ghcr.io/acme/shop:1", username: "ci" },
  });
  expect(other?.metadata.name).not.toBe(one?.metadata.name);
  expect(specs({ docker: { image: "x" } })["App"]).toMatchObject({ lifecycle: { type: "docker" } });
});

test.each<[string, object, object | undefined]>([
  ["no key", {}, undefined],
  ["buildpacks", { buildpacks: ["go"] }, { buildpacks: ["go"] }],
  ["the older key", { buildpack: "go" }, { buildpacks: ["go"] }],
  ["detection by the older key", { buildpack: "default" }, { buildpacks: [] }],
  ["Cloud Native Buildpacks", { lifecycle: "cnb", buildpacks: ["x/go"] }, { type: "cnb", buildpacks: ["x/go"] }],
])("the lifecycle with %s", (_what, app, lifecycle) => {
  expect((specs(app)["App"] as { lifecycle?: object }).lifecycle).toEqual(lifecycle);
});

test("sidecars, and sizes with a dash", () => {
  const sidecars = [{ name: "proxy", command: "run", "process-types": ["web"], memory: "16M" }];
  const found = specs({ sidecars, "disk-quota": "2G" });
  expect(found["App"]).toMatchObject({
    sidecars: [{ name: "proxy", command: "run", processTypes: ["web"], memoryMB: 16 }],
  });
  expect(found["Process"]).toMatchObject({ diskMB: 2048 });
});

test("a value of another type names its place", () => {
  expect(() => renderApp({ name: "shop", sidecars: [{ name: "proxy" }] }, domains)).toThrow(
    /^shop: sidecars\.0\.command: /,
  );
});

test.each<[string, object, object]>([
  [
    "the default route keeps the app's case",
    { name: "My_Shop" },
    { host: "My-Shop", domainRef: { name: "apps.example" } },
  ],
  ["a path", { routes: [{ route: "a.apps.example/x/y" }] }, { host: "a", path: "/x/y" }],
  ["a port", { routes: [{ route: "apps.example:1234" }] }, { port: 1234, domainRef: { name: "apps.example" } }],
])("%s", (_what, app, route) => {
  expect(specs(app)["Route"]).toMatchObject(route);
});

// How addresses are shown and compared.
import { expect, test } from "vitest";
import { Route } from "./route.ts";
import { routeHostname, routeURL } from "./route-url.ts";

test.each<[object, string, string]>([
  [{ host: "shop", path: "/Cart" }, "shop.apps.example/Cart", "shop.apps.example"],
  [{ host: "MyApp" }, "MyApp.apps.example", "myapp.apps.example"],
  [{ host: "*" }, "*.apps.example", "*.apps.example"],
  [{}, "apps.example", "apps.example"],
  [{ port: 1024 }, "apps.example:1024", "apps.example"],
])("a route of %o shows %s and is served at %s", (given, url, hostname) => {
  const spec = Route.spec.parse({ ...given, domainRef: { name: "apps" } });
  expect([routeURL(spec, "apps.example"), routeHostname(spec, "apps.example")]).toEqual([url, hostname]);
});

// Destinations of routes as CF shows them.
import { expect, test } from "vitest";
import { aDroplet, anApp, aProcess, aRoute } from "../../crds/testing/objects.ts";
import type { KubeObject } from "../../kube/api/object.ts";
import { cacheOf } from "../cache/testing/cache-of.ts";
import { destinationGUID, presentDestinations } from "./present.ts";

const app = anApp({ droplet: { name: "d1" } });
const route = (destination: object): ReturnType<typeof aRoute> =>
  aRoute({ destinations: [{ app: "shop", process: "web", ...destination }] });

test.each<[string, object, KubeObject[], number]>([
  ["its own port", { port: 9000 }, [aProcess({ type: "web", ports: [7000] })], 9000],
  ["the process's first port", {}, [aProcess({ type: "web", ports: [7000, 7001] }), aDroplet({ ports: [6000] })], 7000],
  ["the droplet's port", {}, [aProcess({ type: "web" }), aDroplet({ ports: [6000] })], 6000],
  ["8080 without any", {}, [aProcess({ type: "web" }), aDroplet()], 8080],
  ["8080 without a process", {}, [], 8080],
])("a destination has %s", (_what, destination, more, port) =>
  expect(presentDestinations(cacheOf(app, ...more), route(destination))).toMatchObject([{ port, weight: null }]),
);

test("a destination without its app is hidden", () => expect(presentDestinations(cacheOf(), route({}))).toEqual([]));

test("a destination's GUID follows from route, app, process and port", () => {
  const at = route({});
  const cache = cacheOf(app);
  const [one] = at.spec.destinations;
  if (!one) throw new Error("the route has a destination");
  expect(destinationGUID(cache, at, one)).toBe(destinationGUID(cache, at, { ...one }));
  expect(destinationGUID(cache, at, one)).not.toBe(destinationGUID(cache, at, { ...one, port: 9000 }));
});

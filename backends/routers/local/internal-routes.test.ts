// Routes of internal domains: programs of this machine reach them, nobody else.
import type { IncomingMessage } from "node:http";
import { expect, test } from "vitest";
import { createPlaces } from "../../../kube/server/places.ts";
import type { Telemetry } from "../../../telemetry/telemetry.ts";
import { createEndpointChooser } from "./endpoint-chooser.ts";
import { beginExchange, type RouterContext } from "./exchange.ts";
import { createRoutingTable, type Endpoint, type RouteEntry } from "./routing-table.ts";
import { fixedKeyring } from "./testing/keyrings.ts";

const target = { appGUID: "app", processType: "web", port: 8080 };
const table = createRoutingTable();
const route: RouteEntry = {
  guid: "r",
  space: "s",
  hostname: "shop.apps.internal",
  path: "",
  destinations: [{ ...target, app: "shop" }],
  internal: true,
  order: "1",
};
const { internal: _internal, ...open } = route;
table.setRoute("r", route);
table.setRoute("p", { ...open, guid: "p", hostname: "shop.example" });
table.setEndpoints("lrp", [{ ...target, index: 0, instanceGUID: "i", host: "127.0.0.1", hostPort: 1 } as Endpoint]);
const context: RouterContext = {
  table,
  chooser: createEndpointChooser(),
  telemetry: { log: () => undefined } as unknown as Telemetry,
  isSynced: () => true,
  keyring: fixedKeyring(),
  servicePlaces: createPlaces(500),
};

test.each<[string, string, Record<string, string>, number | "served"]>([
  ["shop.apps.internal", "127.0.0.1", {}, "served"],
  ["shop.apps.internal", "::ffff:127.0.0.1", {}, "served"],
  ["shop.apps.internal", "::1", {}, "served"],
  ["shop.apps.internal", "192.168.0.7", {}, 404],
  ["shop.apps.internal", "127.0.0.1", { "x-forwarded-for": "192.168.0.7" }, 404],
  ["shop.apps.internal", "127.0.0.1", { via: "1.1 proxy" }, 404],
  ["shop.apps.internal", "127.0.0.1", { "x-real-ip": "192.168.0.7" }, 404],
  ["shop.apps.internal", "127.0.0.1", { "x-forwarded-host": "shop.apps.internal" }, 404],
  ["shop.example", "192.168.0.7", {}, "served"],
])("%s from %s with %j: %s", (host, remoteAddress, headers, expected) => {
  const request = {
    method: "GET",
    url: "/",
    httpVersion: "1.1",
    headers: { host, ...headers },
    socket: { remoteAddress, remotePort: 1 },
  } as unknown as IncomingMessage;
  const exchange = beginExchange(context, request);
  const next = exchange.next();
  expect("status" in next ? next.status : "served").toBe(expected);
  exchange.finish({ status: 200, requestBytes: 0, responseBytes: 0 });
});

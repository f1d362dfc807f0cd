// The bounds of a request's way: of its space, and of an app, each said by its own number.
import type { IncomingMessage } from "node:http";
import { expect, test } from "vitest";
import { createPlaces } from "../../../kube/server/places.ts";
import { createEndpointChooser } from "./endpoint-chooser.ts";
import { beginExchange, type RouterContext } from "./exchange.ts";
import { createRoutingTable } from "./routing-table.ts";

function aRouter(context: Partial<RouterContext>): (host: string) => ReturnType<typeof beginExchange> {
  const table = createRoutingTable();
  for (const space of ["one", "two"]) {
    table.setRoute(space, {
      guid: space,
      space,
      hostname: `${space}.example`,
      path: "",
      order: space,
      destinations: [{ appGUID: space, app: `shop-${space}`, processType: "web", port: 8080 }],
    });
    table.setEndpoints(space, [
      {
        appGUID: space,
        processGUID: space,
        processType: "web",
        port: 8080,
        host: "10.0.0.1",
        hostPort: 8080,
        index: 0,
        instanceGUID: space,
      },
    ]);
  }
  const whole = {
    table,
    chooser: createEndpointChooser(),
    telemetry: { log: () => undefined },
    isSynced: () => true,
    keyring: { keys: () => undefined },
    servicePlaces: createPlaces(1),
    ...context,
  } as unknown as RouterContext;
  return (host) =>
    beginExchange(whole, { headers: { host }, url: "/", method: "GET", socket: {} } as unknown as IncomingMessage);
}
const ended = { status: 200, requestBytes: 0, responseBytes: 0 };

test("a space that has all of its requests under way makes no other wait", () => {
  const begin = aRouter({ spacePlaces: createPlaces(1), behindIngress: true });
  const first = begin("one.example");
  expect(first.next()).toHaveProperty("endpoint");
  expect(first.next()).not.toMatchObject({ text: expect.stringContaining("of one space") as unknown });
  const second = begin("one.example");
  expect(second.next()).toMatchObject({ status: 503, text: expect.stringContaining("have 1 requests") as unknown });
  second.finish(ended);
  expect(begin("two.example").next()).toHaveProperty("endpoint");
  first.finish(ended);
  expect(begin("one.example").next()).toHaveProperty("endpoint");
});

test.each([
  [true, "App shop-one has 1 requests of routes with a route service under way"],
  [undefined, "Each instance of app shop-one has 1 requests under way"],
] as const)("the answer of a busy app names the bound that holds (behind an ingress: %s)", (behindIngress, text) => {
  const begin = aRouter({ chooser: createEndpointChooser(1), ...(behindIngress && { behindIngress }) });
  expect(begin("one.example").next()).toHaveProperty("endpoint");
  expect(begin("one.example").next()).toMatchObject({ status: 503, text: expect.stringContaining(text) as unknown });
});

// The bounds of a request's way: of its space, and of an app, each said by its own number.
import type { IncomingMessage } from "node:http";
import { expect, test } from "vitest";
import { createPlaces } from "../../../kube/server/places.ts";
import { createEndpointChooser } from "./endpoint-chooser.ts";
import { beginExchange, type RouterContext, type ServiceTarget } from "./exchange.ts";
import { createRoutingTable } from "./routing-table.ts";
import { aKey, fixedKeyring } from "./testing/keyrings.ts";

type Begin = (host: string, headers?: Record<string, string>) => ReturnType<typeof beginExchange>;

/** A route in each of two spaces; `routeService` binds both. */
function aRouter(context: Partial<RouterContext>, routeService?: string): Begin {
  const table = createRoutingTable();
  for (const space of ["one", "two"]) {
    table.setRoute(space, {
      guid: space,
      space,
      hostname: `${space}.example`,
      path: "",
      order: space,
      ...(routeService !== undefined && { routeService }),
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
  return (host, headers = {}) =>
    beginExchange(whole, {
      headers: { ...headers, host },
      rawHeaders: [],
      url: "/",
      method: "GET",
      socket: {},
    } as unknown as IncomingMessage);
}
const spacePlaces = (max: number) => ({ atServices: createPlaces(max), atApps: createPlaces(max) });
/** As a request has them, from those that undici gets: names and values by turns. */
function toHeaders(raw: readonly string[]): Record<string, string> {
  return Object.fromEntries(raw.flatMap((name, at) => (at % 2 === 0 ? [[name.toLowerCase(), raw[at + 1] ?? ""]] : [])));
}
const ended = { status: 200, requestBytes: 0, responseBytes: 0 };

test("a space that has all of its requests under way makes no other wait", () => {
  const begin = aRouter({ spacePlaces: spacePlaces(1), behindIngress: true });
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

test("requests that fill the bound of a space at its services come back from them; the next one is refused", () => {
  const begin = aRouter(
    {
      spacePlaces: spacePlaces(2),
      servicePlaces: createPlaces(9),
      keyring: fixedKeyring({ current: aKey(), previous: undefined }),
      behindIngress: true,
    },
    "https://guard.example",
  );
  const atService = [begin("one.example"), begin("one.example")].map((each) => each.next() as ServiceTarget);
  const crowded = begin("one.example");
  expect(crowded.next()).toMatchObject({ status: 503, text: expect.stringContaining("have 2 requests") as unknown });
  crowded.finish(ended);
  expect(begin("two.example").next()).toHaveProperty("service");
  const back = atService.map(({ service }) => begin("one.example", toHeaders(service.headers)));
  for (const each of back) expect(each.next()).toHaveProperty("endpoint");
  const again = begin("one.example", toHeaders(atService[0]!.service.headers));
  expect(again.next()).toMatchObject({ status: 503, text: expect.stringContaining("have 2 requests") as unknown });
  back[0]!.finish(ended);
  expect(again.next()).toHaveProperty("endpoint");
});

test.each([
  [true, "App shop-one has 1 requests of routes with a route service under way"],
  [undefined, "Each instance of app shop-one has 1 requests under way"],
] as const)("the answer of a busy app names the bound that holds (behind an ingress: %s)", (behindIngress, text) => {
  const begin = aRouter({ chooser: createEndpointChooser(1), ...(behindIngress && { behindIngress }) });
  expect(begin("one.example").next()).toHaveProperty("endpoint");
  expect(begin("one.example").next()).toMatchObject({ status: 503, text: expect.stringContaining(text) as unknown });
});

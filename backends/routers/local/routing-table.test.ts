// The table of routing rules: hosts, wildcards, paths, and what stands back for what.
import { describe, expect, it } from "vitest";
import { createRoutingTable, type Endpoint, type RouteEntry } from "./routing-table.ts";

const route = (address: string, app: string | undefined, order = address): RouteEntry => {
  const slash = address.indexOf("/");
  const [hostname, path] = slash < 0 ? [address, ""] : [address.slice(0, slash), address.slice(slash)];
  return {
    guid: address,
    space: "one",
    hostname,
    path,
    order,
    destinations: app ? [{ appGUID: app, app, processType: "web", port: 8080 }] : [],
  };
};
const endpoint = (appGUID: string, index = 0, more: Partial<Endpoint> = {}): Endpoint => ({
  appGUID,
  processGUID: appGUID,
  processType: "web",
  port: 8080,
  host: "127.0.0.1",
  hostPort: 20_000 + index,
  index,
  instanceGUID: `${appGUID}-${index}`,
  ...more,
});
function table(routes: RouteEntry[], apps: string[]) {
  const made = createRoutingTable();
  for (const each of routes) made.setRoute(`${each.guid}#${each.order}`, each);
  for (const app of apps) made.setEndpoints(`lrp-${app}`, [endpoint(app)]);
  return made;
}

describe("find", () => {
  const routes = [
    route("a.example.com", "a"),
    route("a.example.com/api", "api"),
    route("a.example.com/api/v2", "v2"),
    route("A.example.com/Case", "case"),
    route("*.example.com", "wild"),
    route("*.b.example.com", "wild-b"),
    route("example.com", "apex"),
    route("down.example.com", "down"),
    route("a.example.com/down", "down"),
    route("empty.test", undefined),
    { ...route("foreign.example.com", "foreign-down"), space: "two" },
    { ...route("a.example.com/foreign", "foreign-down"), space: "two" },
  ];
  const apps = ["a", "api", "v2", "case", "wild", "wild-b", "apex"];
  const rows: [string, string, string, string | undefined][] = [
    ["exact host", "a.example.com", "/", "a"],
    ["host in capitals", "A.EXAMPLE.com", "/", "a"],
    ["longest path", "a.example.com", "/api/v2/users?x=/y", "v2"],
    ["the path itself", "a.example.com", "/api", "api"],
    ["a slash at the end", "a.example.com", "/api/", "api"],
    ["whole segments only", "a.example.com", "/apis", "a"],
    ["a query is no path", "a.example.com", "/?/api", "a"],
    ["a path ignores case", "a.example.com", "/cASE/x", "case"],
    ["wildcard", "x.example.com", "/", "wild"],
    ["wildcard over several labels", "x.y.example.com", "/", "wild"],
    ["the nearer wildcard", "x.b.example.com", "/", "wild-b"],
    ["a wildcard is not its own domain", "example.com", "/", "apex"],
    ["nothing", "other.test", "/", undefined],
    ["a path without endpoints stands back", "a.example.com", "/down/x", "a"],
    ["a host without endpoints stands back for a wildcard", "down.example.com", "/", "wild"],
    ["but not for another space's wildcard", "foreign.example.com", "/", undefined],
    ["nor a path for another space's host", "a.example.com", "/foreign/x", undefined],
  ];
  it.each(rows)("%s", (...[, host, path, app]) => {
    expect(table(routes, apps).find(host, path)?.endpoints[0]?.appGUID).toBe(app);
  });

  it("lets no space have the requests of another's host while its app starts", () => {
    const found = table(routes, apps).find("foreign.example.com", "/");
    expect(found).toMatchObject({ route: { guid: "foreign.example.com" }, endpoints: [] });
  });

  it("knows a route without endpoints from no route", () => {
    const made = table(routes, []);
    expect(made.find("down.example.com", "/")).toMatchObject({ route: { guid: "down.example.com" }, endpoints: [] });
    expect(made.find("empty.test", "/")).toMatchObject({ route: { destinations: [] }, endpoints: [] });
    expect(made.find("other.test", "/")).toBeUndefined();
  });

  it("spreads over all destinations and LRPs, and matches process type and port", () => {
    const made = createRoutingTable();
    made.setRoute("r", {
      ...route("a.test", "a"),
      destinations: [...route("a.test", "a").destinations, ...route("a.test", "b").destinations],
    });
    made.setEndpoints("old", [endpoint("a", 0), endpoint("a", 1)]);
    made.setEndpoints("new", [
      endpoint("a", 0, { instanceGUID: "new" }),
      endpoint("a", 0, { port: 9090 }),
      endpoint("a", 0, { processType: "worker" }),
    ]);
    made.setEndpoints("other", [endpoint("b")]);
    expect(made.find("a.test", "/")?.endpoints.map((each) => each.instanceGUID)).toEqual(["a-0", "a-1", "new", "b-0"]);
    made.setEndpoints("old", []);
    expect(made.find("a.test", "/")?.endpoints.map((each) => each.instanceGUID)).toEqual(["new", "b-0"]);
  });

  it("forgets what is removed, and lets the older of two equal routes serve", () => {
    const made = table([route("a.test", "late", "2"), route("a.test", "early", "1")], ["late", "early"]);
    expect(made.find("a.test", "/")?.route.destinations[0]?.app).toBe("early");
    made.setRoute("a.test#1", undefined);
    expect(made.find("a.test", "/")?.route.destinations[0]?.app).toBe("late");
    made.setRoute("a.test#2", undefined);
    expect(made.find("a.test", "/")).toBeUndefined();
    expect(made.size).toBe(0);
  });

  it("keeps nothing of what has no endpoints any more", () => {
    const made = createRoutingTable();
    made.setEndpoints("old", [endpoint("a", 0), endpoint("a", 1), endpoint("a", 0, { port: 9090 })]);
    made.setEndpoints("new", [endpoint("a", 0)]);
    expect(made.targets).toBe(2);
    made.setEndpoints("old", [endpoint("b")]);
    expect(made.targets).toBe(2);
    made.setEndpoints("old", []);
    expect(made.targets).toBe(1);
    made.setEndpoints("new", []);
    expect(made.targets).toBe(0);
  });

  it.each([
    ["up to its end", `/${"p".repeat(127)}`, true],
    ["up to a slash", `/${"p".repeat(127)}/more`, true],
    ["up to a query", `/${"p".repeat(127)}?more`, true],
    ["not beyond", `/${"p".repeat(128)}`, false],
    ["not in the middle of a segment", `/${"p".repeat(127)}more/`, false],
  ])("matches the longest path that a route may have %s", (_where, path, isMatch) => {
    const longest = route(`a.test/${"p".repeat(127)}`, "longest");
    expect(table([longest], []).find("a.test", path) !== undefined).toBe(isMatch);
  });

  it("matches the longest host that a route may have, and no longer one", () => {
    const host = (length: number): string =>
      `${"h.".repeat(200)}`.slice(0, length - "example.com".length) + "example.com";
    const longest = host(253).replace(".h.example.com", "hh.example.com");
    expect(longest).toHaveLength(253);
    expect(table([route(longest, "a")], ["a"]).find(longest, "/")?.endpoints).toHaveLength(1);
    expect(table(routes, apps).find(longest, "/")?.route.guid).toBe("*.example.com");
    expect(table(routes, apps).find(`h${longest}`, "/")).toBeUndefined();
  });

  // Each took seconds, from anybody.
  it.each([
    ["slashes, then more", "a.example.com", `/api${"/".repeat(60_000)}x`, "a.example.com/api"],
    ["dots", ".".repeat(100_000), "/", undefined],
    ["labels", `${"x.".repeat(60_000)}example.com`, "/", undefined],
  ])("looks at a bounded part of a host or path of many %s", (_what, host, path, found) => {
    const made = table(routes, apps);
    const begin = performance.now();
    expect(made.find(host, path)?.route.guid).toBe(found);
    expect(performance.now() - begin).toBeLessThan(500);
  });

  it("does not stumble over an endless path", () => {
    expect(table(routes, apps).find("a.example.com", `/api${"/x".repeat(100_000)}`)?.route.guid).toBe(
      "a.example.com/api",
    );
  });
});

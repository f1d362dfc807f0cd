// Addresses: which routes and domains are in force.
import { expect } from "vitest";
import { eventually } from "../../eventually.ts";
import type { Json } from "../kubernetes/api.ts";
import { dryRun, to } from "../permissions/test-env.ts";
import {
  cfRefuses,
  inForce,
  kubectl,
  made,
  notInForce,
  pathOf,
  refused,
  removed,
  type ObjectToMake,
  type RuleRow,
  type RuleWorld,
} from "./world.ts";

const SYSTEM = "cupola-system";

type Owner = "mine" | "theirs";

const route = (world: RuleWorld, name: string, spec: object, owner: Owner = "mine"): ObjectToMake => ({
  kind: "Route",
  namespace: world[owner].spaceNamespace,
  name,
  spec: { domainRef: { name: "apps.example" }, ...spec },
});
const domain = (world: RuleWorld, name: string, spec: object = {}, owner: Owner = "mine"): ObjectToMake => ({
  kind: "Domain",
  namespace: world[owner].orgNamespace,
  name,
  spec: { name, ...spec },
});
const sharedDomain = (name: string, spec: object = {}): ObjectToMake => ({
  kind: "Domain",
  namespace: SYSTEM,
  name,
  spec: { name, ...spec },
});

async function domainGUID({ env }: RuleWorld, name: string): Promise<string> {
  return eventually(async () => {
    const { json } = await env.cf("admin", "GET", `/v3/domains?names=${name}`);
    expect(json.resources).toHaveLength(1);
    return json.resources[0].guid as string;
  });
}

/** The body of `POST /v3/routes` for a space of the developer. */
async function newRoute(world: RuleWorld, name: string, more: object): Promise<["POST", string, Json]> {
  const relationships = { space: to(world.mine.space), domain: to(await domainGUID(world, name)) };
  return ["POST", "/v3/routes", { relationships, ...more }];
}

const newDomain = ({ mine }: RuleWorld, name: string): ["POST", string, Json] => [
  "POST",
  "/v3/domains",
  { name, relationships: { organization: to(mine.org) } },
];

/** Routes that routers are told to serve in a space. */
async function servedIn({ env }: RuleWorld, namespace: string): Promise<string[]> {
  const { body } = await env.kubernetes.get(
    `/apis/workloads.cupola.dev/v1alpha1/namespaces/${namespace}/routebindings`,
  );
  return body.items.map(({ spec }: Json) => `${spec.hostname}${spec.path}`);
}

export const routeRows: readonly RuleRow[] = [
  {
    rule: "only admins have the host * of a shared domain",
    async shows(world) {
      const { env, mine } = world;
      await cfRefuses(
        world,
        "space_developer",
        await newRoute(world, "apps.example", { host: "*" }),
        /sufficient permissions to create a route with a wildcard host/,
      );
      const wild = route(world, "wild", { host: "*" });
      await notInForce(world, "space_developer", wild, "WildcardNotAllowed");
      expect(await servedIn(world, mine.spaceNamespace)).not.toContain("*.apps.example");
      const allow = { spec: { sharedWildcard: true } };
      refused(await dryRun(env.at("space_developer"), pathOf(wild), allow), /routes\/wildcard/);
      refused(
        await kubectl(world, "space_developer", route(world, "wild2", { host: "*", ...allow.spec })),
        /routes\/wildcard/,
      );
      expect((await env.at("admin").patch("merge", pathOf(wild), allow)).status).toBe(200);
      await inForce(world, wild);
      expect(await servedIn(world, mine.spaceNamespace)).toContain("*.apps.example");
      await removed(world, wild);
      // An admin's of the CF API says so by itself.
      const [, path, body] = await newRoute(world, "apps.example", { host: "*", path: "/all" });
      const byCf = await eventually(async () => {
        const { status, json } = await env.cf("admin", "POST", path, body);
        expect([status, json.errors]).toEqual([201, undefined]);
        return json;
      });
      await eventually(async () => expect(await servedIn(world, mine.spaceNamespace)).toContain("*.apps.example/all"));
      await env.cf("admin", "DELETE", `/v3/routes/${byCf.guid}`);
    },
  },
  {
    rule: "a route of a shared domain has a host",
    async shows(world) {
      await cfRefuses(world, "space_developer", await newRoute(world, "apps.example", {}), /Missing host/);
      await notInForce(world, "space_developer", route(world, "bare", {}), "HostMissing");
    },
  },
  {
    rule: "routes of internal domains have neither a wildcard nor a path",
    async shows(world) {
      await made(world, sharedDomain("apps.internal", { internal: true }));
      const internal = { domainRef: { name: "apps.internal" } };
      await cfRefuses(
        world,
        "space_developer",
        await newRoute(world, "apps.internal", { host: "a", path: "/p" }),
        /Paths are not supported for internal domains/,
      );
      await notInForce(
        world,
        "space_developer",
        route(world, "in-path", { host: "a", path: "/p", ...internal }),
        "PathNotAllowed",
      );
      await notInForce(
        world,
        "admin",
        route(world, "in-wild", { host: "*", sharedWildcard: true, ...internal }),
        "WildcardNotAllowed",
      );
    },
  },
  {
    rule: "host and domain have at most 253 characters",
    async shows(world) {
      const name = `${`${"d".repeat(60)}.`.repeat(4)}example`;
      await made(world, sharedDomain("long", { name }));
      const host = "h".repeat(20);
      await cfRefuses(world, "space_developer", await newRoute(world, name, { host }), /no more than 253 characters/);
      await notInForce(
        world,
        "space_developer",
        route(world, "long", { host, domainRef: { name: "long" } }),
        "HostnameTooLong",
      );
    },
  },
  {
    rule: "a host of a shared domain, with all its paths, is one space's",
    async shows(world) {
      await made(world, route(world, "held", { host: "held" }, "theirs"));
      await inForce(world, route(world, "held", {}, "theirs"));
      await eventually(async () =>
        cfRefuses(
          world,
          "space_developer",
          await newRoute(world, "apps.example", { host: "held", path: "/login" }),
          /already exists with host 'held'/,
        ),
      );
      await notInForce(world, "space_developer", route(world, "login", { host: "held", path: "/login" }), "HostTaken");
    },
  },
  {
    rule: "an address is one route's",
    async shows(world) {
      const first = await made(world, route(world, "addr-1", { host: "addr" }), "space_developer");
      await inForce(world, route(world, "addr-1", {}));
      expect(first.spec.host).toBe("addr");
      await eventually(async () =>
        cfRefuses(
          world,
          "space_developer",
          await newRoute(world, "apps.example", { host: "addr" }),
          /Route already exists/,
        ),
      );
      await notInForce(world, "space_developer", route(world, "addr-2", { host: "ADDR" }), "NameTaken");
    },
  },
  {
    rule: "a route is in a domain of its org, a shared one, or one that is shared with the org",
    async shows(world) {
      await made(world, domain(world, "foreign.example", {}, "theirs"));
      await inForce(world, domain(world, "foreign.example", {}, "theirs"));
      await cfRefuses(
        world,
        "space_developer",
        await newRoute(world, "foreign.example", { host: "x" }),
        /Invalid domain/,
      );
      await notInForce(
        world,
        "space_developer",
        route(world, "in-foreign", { host: "x", domainRef: { name: "foreign.example" } }),
        "DomainMissing",
      );
    },
  },
  {
    rule: "no org has a domain above or below another org's, nor above a shared one",
    async shows(world) {
      const { mine } = world;
      await made(world, domain(world, "shop.test", {}, "theirs"));
      await inForce(world, domain(world, "shop.test", {}, "theirs"));
      await made(world, sharedDomain("in.apps.test"));
      await inForce(world, sharedDomain("in.apps.test"));
      for (const [name, other] of [
        ["sub.shop.test", "shop.test"],
        ["apps.test", "in.apps.test"],
      ] as const) {
        await eventually(() =>
          cfRefuses(
            world,
            "organization_manager",
            newDomain(world, name),
            new RegExp(`"${other}" is already reserved by another domain`),
          ),
        );
        await notInForce(world, "organization_manager", domain(world, name), "NameReserved");
        await notInForce(
          world,
          "space_developer",
          route(world, `on-${name}`, { host: "www", domainRef: { name } }),
          "DomainNameReserved",
        );
      }
      expect((await servedIn(world, mine.spaceNamespace)).filter((name) => name.endsWith(".test"))).toEqual([]);
      // The owner's own domains below are not in anybody's way, and who was refused has the name once the owner is gone.
      await made(world, domain(world, "x.sub.shop.test", {}, "theirs"));
      await inForce(world, domain(world, "x.sub.shop.test", {}, "theirs"));
      await removed(world, domain(world, "x.sub.shop.test", {}, "theirs"));
      await removed(world, domain(world, "shop.test", {}, "theirs"));
      await inForce(world, domain(world, "sub.shop.test"));
      await inForce(world, route(world, "on-sub.shop.test", {}));
    },
  },
  {
    rule: "a domain's name is one domain's",
    async shows(world) {
      await made(world, domain(world, "once.test", {}, "theirs"));
      await inForce(world, domain(world, "once.test", {}, "theirs"));
      await eventually(() =>
        cfRefuses(world, "organization_manager", newDomain(world, "once.test"), /is already in use/),
      );
      await notInForce(world, "organization_manager", domain(world, "twice", { name: "once.test" }), "NameTaken");
    },
  },
  {
    rule: "a domain's name has at least two labels, of at most 63 characters",
    async shows(world) {
      await cfRefuses(world, "organization_manager", newDomain(world, "example"), /at least one "."|RFC 1035/);
      for (const name of ["example", `${"a".repeat(64)}.example`])
        refused(await kubectl(world, "organization_manager", domain(world, "odd", { name })), /spec.name/);
    },
  },
  {
    rule: "a domain's name is no IP address",
    async shows(world) {
      await cfRefuses(world, "organization_manager", newDomain(world, "10.0.0.7"), /not an IP address/);
      refused(
        await kubectl(world, "organization_manager", domain(world, "ip", { name: "10.0.0.7" })),
        /not an IP address/,
      );
    },
  },
  {
    rule: "no route has the address of the CF API",
    async shows(world) {
      await made(world, domain(world, "api.example"), "organization_manager");
      await inForce(world, domain(world, "api.example"));
      await cfRefuses(world, "space_developer", await newRoute(world, "api.example", { path: "/v3" }), /Foundry API/);
      const atAPI = route(world, "at-api", { domainRef: { name: "api.example" }, path: "/v3" });
      await notInForce(world, "space_developer", atAPI, "HostReserved");
      expect(await servedIn(world, world.mine.spaceNamespace)).not.toContain("api.example/v3");
      await removed(world, atAPI);
      await removed(world, domain(world, "api.example"));
    },
  },
  {
    rule: "no domain has the name of a route's address, and no route the name of a domain",
    async shows(world) {
      await made(world, route(world, "named", { host: "named" }, "theirs"));
      await inForce(world, route(world, "named", {}, "theirs"));
      await eventually(() =>
        cfRefuses(world, "organization_manager", newDomain(world, "named.apps.example"), /already reserved by a route/),
      );
      await notInForce(world, "organization_manager", domain(world, "named.apps.example"), "NameReserved");
      await made(world, domain(world, "zone.apps.example", {}, "theirs"));
      await inForce(world, domain(world, "zone.apps.example", {}, "theirs"));
      await eventually(async () =>
        cfRefuses(
          world,
          "space_developer",
          await newRoute(world, "apps.example", { host: "zone" }),
          /Route conflicts with domain 'zone.apps.example'/,
        ),
      );
      await notInForce(world, "space_developer", route(world, "zone", { host: "zone" }), "HostIsDomain");
      await removed(world, domain(world, "zone.apps.example", {}, "theirs"));
      await inForce(world, route(world, "zone", {}));
    },
  },
  {
    rule: "internal domains are shared ones",
    async shows(world) {
      await cfRefuses(
        world,
        "admin",
        ["POST", "/v3/domains", { ...newDomain(world, "own.internal")[2], internal: true }],
        /Cannot associate an internal domain with an organization/,
      );
      refused(
        await kubectl(world, "organization_manager", domain(world, "own.internal", { internal: true })),
        /internal/,
      );
    },
  },
];

// Routes and Domains among several orgs and spaces: whose an address is, and which Domain a Route means, whatever others do.
import { setTimeout as delay } from "node:timers/promises";
import { expect, test } from "vitest";
import { Claim } from "../../../crds/claim/claim.ts";
import { newClaim, routeName } from "../../../crds/claim/rules.ts";
import { Domain } from "../../../crds/domain/domain.ts";
import { SYSTEM_NAMESPACE } from "../../../crds/groups.ts";
import { Route } from "../../../crds/route/route.ts";
import { RouteBinding } from "../../../crds/route-binding/route-binding.ts";
import type { KubeClient } from "../../../kube/client/client.ts";
import type { KubeObject } from "../../../kube/api/object.ts";
import { makeSpace, untilReady, type TestEnv } from "./test-env.ts";
import { eventually } from "../../eventually.ts";

const apply = { fieldManager: "kubectl" };

/** Resolves when new objects are younger than this one: ages are in whole seconds. */
async function untilOlder({ metadata: { creationTimestamp = "" } }: KubeObject): Promise<void> {
  await eventually(() => expect(Date.now()).toBeGreaterThan(Date.parse(creationTimestamp) + 1000));
}

/** `namespace` is that of a space. */
export function routeTests(start: () => { testEnv: TestEnv; namespace: string }): void {
  const given = (): { testEnv: TestEnv; namespace: string; client: KubeClient } => ({
    ...start(),
    client: start().testEnv.client,
  });

  test("a Domain that another has the name of serves no Route until the other is gone", async () => {
    const { client } = given();
    const rival = await makeSpace(client, "rival", "dev");
    await client.create(Domain, {
      metadata: { namespace: "acme", name: "acme.example" },
      spec: { name: "acme.example" },
    });
    await untilReady(client, Domain, { namespace: "acme", name: "acme.example" });
    await client.create(Domain, { metadata: { namespace: "rival", name: "mine" }, spec: { name: "acme.example" } });
    const key = { namespace: rival.namespace, name: "x" };
    await client.create(Route, { metadata: key, spec: { host: "x", domainRef: { name: "mine" } } });
    await untilReady(client, Route, key, { status: "False", reason: "DomainNameTaken" });
    expect((await client.list(RouteBinding, { namespace: rival.namespace })).items).toEqual([]);
    const { items: claims } = await client.list(Claim, { namespace: SYSTEM_NAMESPACE });
    expect(claims.filter(({ spec }) => spec.scope === "route/acme.example")).toEqual([]);
    await client.delete(Domain, { namespace: "acme", name: "acme.example" });
    expect((await untilReady(client, Route, key)).status?.url).toBe("x.acme.example");
  });

  test("a host of a shared domain belongs to the space that has held it longest, with all paths", async () => {
    const { client, namespace } = given();
    const rival = await makeSpace(client, "rival", "dev");
    const address = { host: "victim", domainRef: { name: "apps.example" } };
    await client.create(Route, { metadata: { namespace, name: "victim" }, spec: address });
    await untilReady(client, Route, { namespace, name: "victim" });
    const key = { namespace: rival.namespace, name: "victim" };
    await client.create(Route, { metadata: key, spec: { ...address, path: "/login" } });
    await untilReady(client, Route, key, { status: "False", reason: "HostTaken" });
    const hostnames = async (): Promise<string[]> =>
      (await client.list(RouteBinding, { namespace: key.namespace })).items.map(
        ({ spec }) => `${spec.hostname}${spec.path}`,
      );
    expect(await hostnames()).not.toContain("victim.apps.example/login");
    // The path is still the first space's to take.
    await client.create(Route, { metadata: { namespace, name: "login" }, spec: { ...address, path: "/login" } });
    await untilReady(client, Route, { namespace, name: "login" });
    for (const name of ["victim", "login"]) await client.delete(Route, { namespace, name });
    await untilReady(client, Route, key);
    expect(await hostnames()).toContain("victim.apps.example/login");
  });

  test("Routes of a private Domain claim no host of the shared domain when the private one is deleted", async () => {
    const { client, namespace, testEnv } = given();
    const thief = await makeSpace(client, "thief", "dev");
    const shadow = { namespace: "thief", name: "apps.example" };
    await client.create(Domain, { metadata: shadow, spec: { name: "thief.example" } });
    await untilReady(client, Domain, shadow);
    const [older, younger] = [
      { namespace: thief.namespace, name: "coveted" },
      { namespace, name: "coveted" },
    ];
    await client.create(Route, {
      metadata: older,
      spec: { host: "coveted", path: "/x", domainRef: { name: "apps.example" } },
    });
    expect((await untilReady(client, Route, older)).status?.url).toBe("coveted.thief.example/x");
    await untilOlder(await client.get(Route, older));
    await client.create(Route, { metadata: younger, spec: { host: "coveted", domainRef: { name: "apps.example" } } });
    await untilReady(client, Route, younger);
    await client.delete(Domain, shadow);
    await untilReady(client, Route, older, { status: "False", reason: "HostTaken" });
    await testEnv.idle();
    const hostnames = (await client.list(RouteBinding, {})).items.map(({ spec }) => spec.hostname);
    expect(hostnames.filter((name) => name.startsWith("coveted."))).toEqual(["coveted.apps.example"]);
    expect((await client.get(Route, younger)).status?.conditions).toMatchObject([{ type: "Ready", status: "True" }]);
    await client.delete(Route, younger);
    expect((await untilReady(client, Route, older)).status?.url).toBe("coveted.apps.example/x");
  });

  test("a Domain named like another space's host is not in force, and gets none of its paths", async () => {
    const { client, namespace } = given();
    const thief = await makeSpace(client, "thief", "dev");
    await client.create(Route, {
      metadata: { namespace, name: "inner" },
      spec: { host: "inner", domainRef: { name: "apps.example" } },
    });
    await untilReady(client, Route, { namespace, name: "inner" });
    await client.create(Domain, {
      metadata: { namespace: "thief", name: "inner" },
      spec: { name: "inner.apps.example" },
    });
    const reserved = { status: "False", reason: "NameReserved" };
    await untilReady(client, Domain, { namespace: "thief", name: "inner" }, reserved);
    const login = { namespace: thief.namespace, name: "inner-login" };
    await client.create(Route, { metadata: login, spec: { path: "/login", domainRef: { name: "inner" } } });
    await untilReady(client, Route, login, { status: "False", reason: "DomainNameReserved" });
    expect(
      (await client.list(RouteBinding, { namespace: thief.namespace })).items.map(({ spec }) => spec.hostname),
    ).not.toContain("inner.apps.example");
    await client.delete(Route, { namespace, name: "inner" });
    expect((await untilReady(client, Route, login)).status?.url).toBe("inner.apps.example/login");
    await client.create(Route, {
      metadata: { namespace, name: "inner" },
      spec: { host: "inner", domainRef: { name: "apps.example" } },
    });
    await untilReady(client, Route, { namespace, name: "inner" }, { status: "False", reason: "HostTaken" });
    await client.delete(Route, login);
    await untilReady(client, Route, { namespace, name: "inner" }, { status: "False", reason: "HostIsDomain" });
    await client.delete(Domain, { namespace: "thief", name: "inner" });
    await untilReady(client, Route, { namespace, name: "inner" });
  });

  test("a Route moves to a new private Domain of that name, and back when it is deleted", async () => {
    const { client } = given();
    const mover = await makeSpace(client, "mover", "dev");
    const key = { namespace: mover.namespace, name: "moved" };
    const own = { namespace: "mover", name: "apps.example" };
    const waitUntilReconciled = (domain: string): Promise<void> =>
      eventually(async () => {
        expect(
          (await client.list(RouteBinding, { namespace: mover.namespace })).items.map(({ spec }) => spec.hostname),
        ).toEqual([`moved.${domain}`]);
        expect((await untilReady(client, Route, key)).status?.url).toBe(`moved.${domain}`);
      });
    await client.create(Route, { metadata: key, spec: { host: "moved", domainRef: { name: "apps.example" } } });
    await waitUntilReconciled("apps.example");
    await client.create(Domain, { metadata: own, spec: { name: "mover.example" } });
    await waitUntilReconciled("mover.example");
    await client.delete(Domain, own);
    await waitUntilReconciled("apps.example");
  });

  test("of two Domains of one object name that are shared with an org the older counts, and its Routes move to no other", async () => {
    const { client, testEnv } = given();
    const guest = await makeSpace(client, "guest", "dev");
    await makeSpace(client, "lender", "dev");
    await makeSpace(client, "a-stranger", "dev");
    const lend = (owner: string, domain: string): Promise<Domain> =>
      client.create(Domain, {
        metadata: { namespace: owner, name: "lent" },
        spec: { name: domain, sharedOrgs: ["guest"] },
      });
    const route = async (host: string): Promise<Route> => {
      await client.apply(
        Route,
        { metadata: { namespace: guest.namespace, name: host }, spec: { host, domainRef: { name: "lent" } } },
        apply,
      );
      return untilReady(client, Route, { namespace: guest.namespace, name: host });
    };
    await lend("lender", "lender.example");
    expect((await route("one")).status?.url).toBe("one.lender.example");
    await untilOlder(await client.get(Domain, { namespace: "lender", name: "lent" }));
    // Controllers that start anew see the stranger's first.
    await testEnv.without(() => lend("a-stranger", "stranger.example"));
    await untilReady(client, Domain, { namespace: "a-stranger", name: "lent" });
    expect([(await route("two")).status?.url, (await route("one")).status?.url]).toEqual([
      "two.lender.example",
      "one.lender.example",
    ]);
    await client.patch(
      Domain,
      { namespace: "lender", name: "lent" },
      { type: "merge", body: { spec: { sharedOrgs: [] } } },
    );
    for (const host of ["one", "two"])
      await untilReady(
        client,
        Route,
        { namespace: guest.namespace, name: host },
        { status: "False", reason: "DomainMissing" },
      );
    expect((await route("three")).status?.url).toBe("three.stranger.example");
    await eventually(async () =>
      expect(
        (await client.list(RouteBinding, { namespace: guest.namespace })).items.map(({ spec }) => spec.hostname),
      ).toEqual(["three.stranger.example"]),
    );
  });

  test("a Route of a shared domain without a host is not served", async () => {
    const { client, namespace } = given();
    await client.create(Route, {
      metadata: { namespace, name: "root" },
      spec: { domainRef: { name: "apps.example" } },
    });
    await untilReady(client, Route, { namespace, name: "root" }, { status: "False", reason: "HostMissing" });
    expect((await client.list(RouteBinding, { namespace })).items.map(({ spec }) => spec.hostname)).not.toContain(
      "apps.example",
    );
  });

  test("of two spaces that claimed a host at the same time one releases its claims", async () => {
    const { client, namespace, testEnv } = given();
    const rival = await makeSpace(client, "rival", "dev");
    const make = (at: string, path: string): Promise<Route> =>
      client.create(Route, {
        metadata: { namespace: at, name: `raced${path.slice(1)}` },
        spec: { host: "raced", path, domainRef: { name: "apps.example" } },
      });
    const claim = async (route: Route, second: number): Promise<unknown> =>
      client.create(
        Claim,
        newClaim(
          routeName(route, "apps.example"),
          { kind: "Route", namespace: route.metadata.namespace ?? "", name: route.metadata.name },
          new Date(second * 1000),
        ),
      );
    await testEnv.without(async () => {
      await claim(await make(rival.namespace, "/b"), 2);
      await claim(await make(namespace, "/a"), 1);
      await make(namespace, "/b");
    });
    await untilReady(
      client,
      Route,
      { namespace: rival.namespace, name: "racedb" },
      { status: "False", reason: "HostTaken" },
    );
    for (const name of ["raceda", "racedb"]) await untilReady(client, Route, { namespace, name });
    for (const name of ["raceda", "racedb"]) await client.delete(Route, { namespace, name });
    await untilReady(client, Route, { namespace: rival.namespace, name: "racedb" });
  });

  test("of many spaces that want many hosts at once each host is one space's in the end", async () => {
    const { client, testEnv } = given();
    const spaces = await Promise.all(["racer-a", "racer-b", "racer-c"].map((org) => makeSpace(client, org, "dev")));
    const hosts = Array.from({ length: 12 }, (_, at) => `many${at}`);
    const wanted = hosts.flatMap((host) =>
      spaces.flatMap(({ namespace }, at) =>
        ["/x", `/y${at}`].map((path) => ({
          metadata: { namespace, name: `${host}-${path.slice(1)}` },
          spec: { host, path, domainRef: { name: "apps.example" } },
        })),
      ),
    );
    await Promise.all(wanted.map((draft) => client.create(Route, draft)));
    const served = async (): Promise<Map<string, string[]>> => {
      const found = new Map<string, string[]>();
      for (const { metadata, spec } of (await client.list(RouteBinding, {})).items)
        if (spec.hostname.startsWith("many"))
          found.set(spec.hostname, [...(found.get(spec.hostname) ?? []), metadata.namespace ?? ""]);
      return found;
    };
    await eventually(async () => {
      const found = await served();
      expect([...found.keys()].sort()).toEqual(hosts.map((host) => `${host}.apps.example`).sort());
      for (const namespaces of found.values()) expect([namespaces.length, new Set(namespaces).size]).toEqual([2, 1]);
    });
    await testEnv.idle();
    const before = await served();
    testEnv.writes.length = 0;
    await delay(2000); // the time in which whoever changes his mind would write
    expect([testEnv.writes, await served()]).toEqual([[], before]);
  });
}

// A namespace's rights are taken from the platform while it runs: nothing is lost, what is missing is said, all else goes on, and a grant mends it.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { App } from "../../../crds/app/app.ts";
import { AuditLog } from "../../../crds/audit-log/audit-log.ts";
import { SPACE_CONTENT_KINDS } from "../../../controllers/space/contents.ts";
import { SYSTEM_NAMESPACE } from "../../../crds/groups.ts";
import { Org } from "../../../crds/org/org.ts";
import { Space } from "../../../crds/space/space.ts";
import type { KubeClient } from "../../../kube/client/client.ts";
import { resourceId } from "../../../kube/api/resource-ref.ts";
import { applyApp, currentLRP, readyOf, untilReady } from "../controllers/test-env.ts";
import { eventually } from "../../eventually.ts";
import { BOUND_SECONDS, startScopedTestEnv, type Endpoint, type ScopedTestEnv } from "./test-env.ts";

export interface Server {
  name: string;
  start(): Promise<Endpoint>;
}

/** The machine is busy, and the replica's object is written twice a second. */
const SLACK_MS = 4_000;

export function revocationTests(server: Server): void {
  describe(`a revoked namespace on ${server.name}`, () => {
    let endpoint: Endpoint;
    let scoped: ScopedTestEnv;
    let admin: KubeClient;
    const spaces = { dev: "", prod: "" };
    const guids = { dev: "", prod: "" };

    /** Without audit logs: events of a moment ago are written at any time. */
    const contents = async (namespace: string): Promise<string[]> => {
      const kinds = SPACE_CONTENT_KINDS.filter((ref) => ref !== AuditLog);
      const lists = await Promise.all(kinds.map((ref) => admin.list(ref, { namespace })));
      return lists
        .flatMap(({ items }) => items.map(({ kind, metadata }) => `${kind} ${metadata.name} ${metadata.uid}`))
        .sort();
    };
    const spaceReady = async (name: string) => readyOf(await admin.get(Space, { namespace: "acme", name }));
    const started = async (namespace: string, name: string): Promise<unknown> =>
      eventually(() => currentLRP(admin, { namespace, name }), 30_000);
    const appsOf = (space: keyof typeof guids) => scoped.api(`/v3/apps?space_guids=${guids[space]}`);
    const namesOf = async (space: keyof typeof guids): Promise<string[] | undefined> =>
      (await appsOf(space)).body.resources?.map(({ name }) => name).sort();

    beforeAll(async () => {
      endpoint = await server.start();
      scoped = await startScopedTestEnv(endpoint);
      admin = scoped.admin;
    }, 180_000);
    afterAll(async () => {
      await scoped?.stop();
      await endpoint?.stop();
    }, 60_000);

    test("with rights in its own namespace only, the platform reports the missing rights of each new namespace", async () => {
      expect(scoped.platform.ready()).toBe(true);
      await admin.apply(Org, { metadata: { name: "acme" }, spec: {} }, { fieldManager: "kubectl" });
      const org = await untilReady(admin, Org, { name: "acme" }, { status: "False", reason: "PermissionMissing" });
      expect(readyOf(org)?.message).toContain("in namespace acme");
      await scoped.grant("acme");
      await untilReady(admin, Org, { name: "acme" });
      for (const name of ["dev", "prod"] as const) {
        await admin.apply(Space, { metadata: { namespace: "acme", name }, spec: {} }, { fieldManager: "kubectl" });
        await eventually(async () =>
          expect(await spaceReady(name)).toMatchObject({
            status: "False",
            reason: "PermissionMissing",
            message: expect.stringContaining(`acme-${name}`),
          }),
        );
        await scoped.grant(`acme-${name}`);
        const made = await untilReady(admin, Space, { namespace: "acme", name });
        spaces[name] = made.status?.namespace ?? "";
        guids[name] = made.metadata.labels?.["cupola.dev/guid"] ?? "";
        await applyApp(admin, { namespace: spaces[name], name: "shop" });
        await started(spaces[name], "shop");
      }
      expect(await namesOf("dev")).toEqual(["shop"]);
    }, 120_000);

    test("revoked: watches are parked within the bound, nothing is deleted, the Space names the missing rights, and the API never answers an empty list", async () => {
      await scoped.platform.idle();
      // The reports of the time before the grant are gone.
      await eventually(async () => expect(await scoped.parkedIn(spaces.dev)).toEqual([]));
      const before = await contents(spaces.dev);
      const begun = performance.now();
      await scoped.revoke(spaces.dev);
      await eventually(
        async () =>
          expect(await scoped.parkedIn(spaces.dev)).toEqual(
            expect.arrayContaining(SPACE_CONTENT_KINDS.map(resourceId)),
          ),
        30_000,
      );
      expect(performance.now() - begun).toBeLessThan(BOUND_SECONDS * 1000 + SLACK_MS);
      expect(await scoped.parkedIn(spaces.prod)).toEqual([]);
      await eventually(async () =>
        expect(await spaceReady("dev")).toMatchObject({
          status: "False",
          reason: "PermissionMissing",
          message: expect.stringMatching(/list and watch .*in namespace acme-dev/),
        }),
      );
      expect(await appsOf("dev")).toMatchObject({ code: 503, retryAfter: expect.stringMatching(/^\d+$/) });
      await scoped.platform.idle();
      expect(await contents(spaces.dev)).toEqual(before);
    }, 60_000);

    test("meanwhile the other space works, and the platform serves", async () => {
      await applyApp(admin, { namespace: spaces.prod, name: "second" });
      await started(spaces.prod, "second");
      expect(await namesOf("prod")).toEqual(["second", "shop"]);
      expect(await spaceReady("prod")).toMatchObject({ status: "True" });
      expect(scoped.platform.ready()).toBe(true);
      expect(
        scoped.platform
          .health()
          .degraded.map(({ reason }) => reason)
          .join(),
      ).toContain("apps.cupola.dev in acme-dev Forbidden");
    }, 60_000);

    test("granted: watches resume by themselves, and objects deleted meanwhile are gone", async () => {
      await admin.delete(App, { namespace: spaces.dev, name: "shop" });
      await applyApp(admin, { namespace: spaces.dev, name: "third" });
      await scoped.platform.idle();
      await scoped.grant(spaces.dev);
      await started(spaces.dev, "third");
      await eventually(async () => expect(await namesOf("dev")).toEqual(["third"]));
      await eventually(async () => expect(await spaceReady("dev")).toMatchObject({ status: "True" }));
      await eventually(async () => expect(await scoped.parkedIn(spaces.dev)).toEqual([]));
      await eventually(() => expect(scoped.platform.health().degraded).toEqual([]));
    }, 120_000);

    test("without rights in its own namespace the platform stays up, never answers an empty list, and resumes with the grant", async () => {
      await scoped.revoke(SYSTEM_NAMESPACE);
      await eventually(async () => expect(await appsOf("prod")).toMatchObject({ code: 503 }), 30_000);
      expect((await fetch(`${scoped.platform.url}/livez`)).status).toBe(200);
      const before = await contents(spaces.prod);
      await scoped.platform.idle();
      expect(await contents(spaces.prod)).toEqual(before);
      await scoped.grant(SYSTEM_NAMESPACE);
      await eventually(async () => expect(await namesOf("prod")).toEqual(["second", "shop"]), 30_000);
      await eventually(
        () => expect(scoped.platform.health()).toEqual({ ready: true, pending: [], degraded: [] }),
        30_000,
      );
    }, 120_000);

    test("a deleted space whose namespace cannot be read keeps its objects, and is removed when rights return", async () => {
      await scoped.revoke(spaces.dev);
      await eventually(
        async () =>
          expect(await scoped.parkedIn(spaces.dev)).toEqual(
            expect.arrayContaining(SPACE_CONTENT_KINDS.map(resourceId)),
          ),
        30_000,
      );
      const before = await contents(spaces.dev);
      await admin.delete(Space, { namespace: "acme", name: "dev" });
      await eventually(async () =>
        expect(await spaceReady("dev")).toMatchObject({ status: "False", reason: "PermissionMissing" }),
      );
      await scoped.platform.idle();
      expect(await contents(spaces.dev)).toEqual(before);
      await scoped.grant(spaces.dev);
      await eventually(
        async () => expect(await admin.find(Space, { namespace: "acme", name: "dev" })).toBeUndefined(),
        60_000,
      );
    }, 120_000);
  });
}

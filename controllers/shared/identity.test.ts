// Who keeps a GUID, and who holds a claim, on a client that only records.
import { describe, expect, test } from "vitest";
import { App } from "../../crds/app/app.ts";
import { appName, claimObjectName, newClaim } from "../../crds/claim/rules.ts";
import type { Claim } from "../../crds/claim/claim.ts";
import { LABELS } from "../../crds/labels.ts";
import { Process } from "../../crds/process/process.ts";
import { KubeError } from "../../kube/client/errors.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import type { ReconcileContext } from "../../kube/controller/controller.ts";
import type { KubeObject } from "../../kube/api/object.ts";
import { NotSynced } from "../../kube/cache/errors.ts";
import type { ResourceRef } from "../../kube/api/resource-ref.ts";
import { anApp } from "./fixtures.ts";
import { ensureClaim, planGUID, resolveGUID } from "./identity.ts";

const guid = "0190a1b2-0000-7000-8000-000000000001";

describe("planGUID", () => {
  const older = anApp(
    {},
    { metadata: { name: "a", uid: "u1", creationTimestamp: "2026-01-01T00:00:00Z", labels: { [LABELS.guid]: guid } } },
  );
  const younger = anApp(
    {},
    { metadata: { name: "b", uid: "u2", creationTimestamp: "2026-01-01T00:00:05Z", labels: { [LABELS.guid]: guid } } },
  );
  const bare = anApp({}, { metadata: { name: "c", uid: "u3" } });

  test("the older of two keeps it, the younger gets its uid", () => {
    expect(planGUID(older, [older, younger])).toBe(guid);
    expect(planGUID(younger, [older, younger])).toBe("u2");
  });
  test("nor has it that of an older object of a kind that presents the same GUIDs", () => {
    const read = {
      byIndex: (ref: ResourceRef) => (ref.kind === App.kind ? [older] : [younger]),
    } as unknown as ReconcileContext["read"];
    expect(resolveGUID(Process, younger as KubeObject as Process, { read }).guid).toBe(guid);
    expect(resolveGUID(Process, younger as KubeObject as Process, { read }, [App])).toEqual({
      guid: "u2",
      labels: { [LABELS.guid]: "u2" },
    });
  });
  test("and does not wait until all objects of that kind are listed", () => {
    const coming = (ref: ResourceRef): KubeObject[] => {
      if (ref.kind === App.kind) throw new NotSynced("apps");
      return [younger];
    };
    expect(
      resolveGUID(
        Process,
        younger as KubeObject as Process,
        { read: { byIndex: coming } as unknown as ReconcileContext["read"] },
        [App],
      ).guid,
    ).toBe(guid);
  });
  test("one without a label has its uid", () => expect(planGUID(bare, [bare])).toBe("u3"));
});

describe("holdClaim", () => {
  const app = anApp({ name: "Shop" });
  const name = appName(app);
  const now = new Date("2026-01-01T01:00:00Z");
  const claimOf = (claimant: string, since: string): Claim => ({
    ...newClaim(name, { kind: "App", namespace: "acme-dev", name: claimant }, new Date(since)),
    metadata: { name: claimObjectName(name), namespace: "cupola-system", resourceVersion: "7" },
  });

  function contextOf(state: { cached?: Claim; live?: Claim; holder?: App }): {
    context: ReconcileContext;
    writes: string[];
  } {
    const writes: string[] = [];
    const client = {
      create: (_ref: unknown, object: Claim) => {
        if (state.live) throw new KubeError({ code: 409, reason: "AlreadyExists" });
        writes.push(`create ${object.spec.claimant.name}`);
        return Promise.resolve(object);
      },
      find: (ref: { kind: string }) => Promise.resolve(ref.kind === App.kind ? state.holder : state.live),
      update: (_ref: unknown, object: Claim) => {
        writes.push(`update ${object.spec.claimant.name} at ${object.metadata.resourceVersion}`);
        return Promise.resolve(object);
      },
    } as unknown as KubeClient;
    const read = { find: () => state.cached } as unknown as ReconcileContext["read"];
    return { context: { client, read, now: () => now } as unknown as ReconcileContext, writes };
  }

  test("makes the claim where there is none", async () => {
    const { context, writes } = contextOf({});
    await ensureClaim("App", app, name, context);
    expect(writes).toEqual(["create shop"]);
  });
  test("writes nothing when it holds it", async () => {
    const { context, writes } = contextOf({ cached: claimOf("shop", "2026-01-01T00:00:00Z") });
    await ensureClaim("App", app, name, context);
    expect(writes).toEqual([]);
  });
  test("loses to one whose object bears the name", async () => {
    const live = claimOf("other", "2026-01-01T00:00:00Z");
    const { context, writes } = contextOf({
      live,
      cached: live,
      holder: anApp({ name: "SHOP" }, { metadata: { name: "other" } }),
    });
    await expect(ensureClaim("App", app, name, context)).rejects.toMatchObject({ reason: "NameTaken" });
    expect(writes).toEqual([]);
  });
  test.each<[string, App | undefined]>([
    ["is gone", undefined],
    ["was renamed", anApp({ name: "another" }, { metadata: { name: "other" } })],
  ])("takes over, by version, from one whose object %s", async (_what, holder) => {
    const { context, writes } = contextOf({
      live: claimOf("other", "2026-01-01T00:00:00Z"),
      ...(holder && { holder }),
    });
    await ensureClaim("App", app, name, context);
    expect(writes).toEqual(["update shop at 7"]);
  });
  test("leaves a claim alone in its first 30 seconds, and looks again after them", async () => {
    const { context, writes } = contextOf({ live: claimOf("other", "2026-01-01T00:59:50Z") });
    await expect(ensureClaim("App", app, name, context)).rejects.toMatchObject({
      reason: "NameTaken",
      requeueAfterMs: 20_100,
    });
    expect(writes).toEqual([]);
  });
});

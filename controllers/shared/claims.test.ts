// Which object holds a claim, with a client that only records.
import { describe, expect, test } from "vitest";
import { App } from "../../crds/app/app.ts";
import { appName, claimObjectName, newClaim } from "../../crds/claim/rules.ts";
import type { Claim } from "../../crds/claim/claim.ts";
import { KubeError } from "../../kube/client/errors.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import type { ReconcileContext } from "../../kube/controller/controller.ts";
import { anApp } from "../../crds/testing/objects.ts";
import { ensureClaim } from "./claims.ts";

describe("ensureClaim", () => {
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

  test("creates a missing claim", async () => {
    const { context, writes } = contextOf({});
    await ensureClaim("App", app, name, context);
    expect(writes).toEqual(["create shop"]);
  });
  test("writes nothing when it holds it", async () => {
    const { context, writes } = contextOf({ cached: claimOf("shop", "2026-01-01T00:00:00Z") });
    await ensureClaim("App", app, name, context);
    expect(writes).toEqual([]);
  });
  test("loses to a claim whose object has the name", async () => {
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

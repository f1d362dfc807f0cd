// When a claim that was acquired for a write is released.
import { describe, expect, test } from "vitest";
import { App } from "../../crds/app/app.ts";
import type { Claim } from "../../crds/claim/claim.ts";
import { newClaim } from "../../crds/claim/rules.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { KubeError } from "../../kube/client/errors.ts";
import type { KubeObject } from "../../kube/api/object.ts";
import { releaseClaim, acquireClaim } from "./name-claims.ts";
import type { ClusterCache } from "../cache/cluster-cache.ts";

const draft = { metadata: { name: "shop", namespace: "acme-dev" }, spec: { name: "Shop" } };

function app(name: string): KubeObject {
  return {
    apiVersion: "cupola.dev/v1alpha1",
    kind: "App",
    metadata: { name: "shop", namespace: "acme-dev", uid: "1" },
    spec: { name },
  };
}

/** A cluster in which the claim is free and `found` is the answer to a read of the draft's object. */
function cluster(found: KubeObject | Error | undefined): { client: KubeClient; deleted: string[] } {
  const deleted: string[] = [];
  const client = {
    create: (_ref: unknown, claim: Claim) =>
      Promise.resolve({ ...claim, metadata: { ...claim.metadata, uid: "c", resourceVersion: "7" } }),
    find: () => (found instanceof Error ? Promise.reject(found) : Promise.resolve(found)),
    delete: (ref: { kind: string }, key: { name: string }) => {
      deleted.push(`${ref.kind} ${key.name.split("-")[0]}`);
      return Promise.resolve({});
    },
  } as unknown as KubeClient;
  return { client, deleted };
}

describe("releasing a claim", () => {
  test.each([
    ["no object came of it", undefined, ["Claim app"]],
    ["the object bears another name", app("Other"), ["Claim app"]],
    // kubectl created an object with the same metadata.name first, or the answer to our create was lost.
    ["the object is there and bears the name, in whatever case", app("SHOP"), []],
    ["nobody knows, since the cluster does not answer", new Error("no answer"), []],
  ])("%s", async (_what, found, expected) => {
    const { client, deleted } = cluster(found);
    const at = { client, cache: {} as ClusterCache, signal: new AbortController().signal, now: () => new Date() };
    const claim = await acquireClaim(at, App, draft, () => new Error("taken"));
    await claim?.release();
    expect(deleted).toEqual(expected);
  });
});

test.each([
  ["ended by us", () => Promise.resolve({}), true],
  ["ended by a controller before us", () => Promise.reject(new KubeError({ code: 404, reason: "NotFound" })), true],
  ["taken over by somebody else", () => Promise.reject(new KubeError({ code: 409, reason: "Conflict" })), false],
  ["unknown, since the cluster does not answer", () => Promise.reject(new Error("no answer")), false],
])("the end of a claim that is %s", async (_what, answer, isGone) => {
  const claim = newClaim(
    { scope: "app/acme-dev", claimed: "shop" },
    { kind: "App", namespace: "acme-dev", name: "shop" },
    new Date(0),
  );
  expect(await releaseClaim({ delete: answer } as unknown as KubeClient, claim)).toBe(isGone);
});

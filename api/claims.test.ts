// When a claim that was taken for a write is given back.
import { describe, expect, test } from "vitest";
import { App } from "../crds/app/app.ts";
import type { Claim } from "../crds/claim/claim.ts";
import type { KubeClient } from "../kube/client/client.ts";
import type { KubeObject } from "../kube/object.ts";
import { takeClaim } from "./claims.ts";
import type { View } from "./view.ts";

const draft = { metadata: { name: "shop", namespace: "acme-dev" }, spec: { name: "Shop" } };

function app(name: string): KubeObject {
  return { apiVersion: "cupola.dev/v1alpha1", kind: "App", metadata: { name: "shop", namespace: "acme-dev", uid: "1" }, spec: { name } };
}

/** A cluster in which the claim is free, and where this is the object of the draft's name. */
function cluster(found: KubeObject | Error | undefined): { client: KubeClient; deleted: string[] } {
  const deleted: string[] = [];
  const client = {
    create: (_ref: unknown, claim: Claim) => Promise.resolve({ ...claim, metadata: { ...claim.metadata, uid: "c", resourceVersion: "7" } }),
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
    // kubectl was quicker with an object of the same metadata.name, or the answer to our create was lost.
    ["the object is there and bears the name, in whatever case", app("SHOP"), []],
    ["nobody knows, since the cluster does not answer", new Error("no answer"), []],
  ])("%s", async (_what, found, expected) => {
    const { client, deleted } = cluster(found);
    const at = { client, view: {} as View, signal: new AbortController().signal, now: () => new Date() };
    const claim = await takeClaim(at, App, draft, () => new Error("taken"));
    await claim?.release();
    expect(deleted).toEqual(expected);
  });
});

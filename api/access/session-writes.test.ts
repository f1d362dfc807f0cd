// A move is two writes: what becomes of the object when it is stopped between them.
import { expect, test } from "vitest";
import { App } from "../../crds/app/app.ts";
import { Claim } from "../../crds/claim/claim.ts";
import { claimedNameOf } from "../../crds/claim/claimed-name.ts";
import { newClaim } from "../../crds/claim/rules.ts";
import type { KubeObject } from "../../kube/api/object.ts";
import type { ResourceRef } from "../../kube/api/resource-ref.ts";
import { KubeError } from "../../kube/client/errors.ts";
import { createLiveCache } from "./testing/live-cache.ts";
import { unprocessable } from "../http/errors.ts";
import { NO_POLICY_CHECK } from "./policy-check.ts";
import { createSessionWriter, type WriteContext } from "./session-writes.ts";

const app = {
  apiVersion: "cupola.dev/v1alpha1",
  kind: "App",
  metadata: { name: "shop", namespace: "former", uid: "1", resourceVersion: "2" },
  spec: { name: "shop" },
} as unknown as App;
const draft = { metadata: { name: "shop", namespace: "next" }, spec: app.spec };

interface Options {
  /** Where nothing is created but by a dry run. */
  closed?: string;
  /** The claim can be given to the next object, not back. */
  keepsClaim?: boolean;
  /** Sentences with which policy denies the object in its next place. */
  refusals?: readonly string[];
  /** The caller may write. */
  isAllowed?: boolean;
}

/** A cluster whose client leaves with the deletion; `places` are the namespaces that hold the app. */
function setUp({ closed, keepsClaim = false, refusals = [], isAllowed = true }: Options): {
  places: Set<string>;
  move: () => Promise<unknown>;
} {
  const places = new Set(["former"]);
  const request = new AbortController();
  const name = claimedNameOf("App", app, () => undefined);
  if (!name) throw new Error("an app claims a name");
  let claim = newClaim(name, { kind: "App", namespace: "former", name: "shop" }, new Date());
  const caller = {
    async create(_ref: unknown, object: KubeObject, options: { signal: AbortSignal; dryRun?: boolean }) {
      options.signal.throwIfAborted();
      const { namespace = "" } = object.metadata;
      if (options.dryRun) return object;
      if (namespace === closed) throw new KubeError({ code: 500, reason: "InternalError" });
      if (places.has(namespace)) throw new KubeError({ code: 409, reason: "AlreadyExists" });
      places.add(namespace);
      return object;
    },
    async delete(_ref: unknown, { namespace = "" }: { namespace?: string }, { signal }: { signal: AbortSignal }) {
      signal.throwIfAborted();
      places.delete(namespace);
      request.abort(new Error("the client went away"));
    },
  };
  const platform = {
    create: () => Promise.reject(new KubeError({ code: 409, reason: "AlreadyExists" })),
    find: async (ref: ResourceRef, { namespace = "" }: { namespace?: string }) => {
      if (ref.kind === Claim.kind) return claim;
      return places.has(namespace) ? app : undefined;
    },
    update: async (_ref: unknown, next: Claim) => {
      if (keepsClaim && next.spec.claimant.namespace === "former")
        throw new KubeError({ code: 409, reason: "Conflict" });
      return (claim = next);
    },
  };
  const writer = createSessionWriter({
    cache: createLiveCache().cache,
    signal: request.signal,
    now: () => new Date(),
    allows: () => true,
    permissions: { decide: () => Promise.resolve(isAllowed) },
    policy: { ...NO_POLICY_CHECK, refusals: () => [...refusals] },
    reportUndeclared: () => undefined,
    peers: { publishWrites: () => Promise.resolve() },
    platformClient: platform,
    callerClient: () => caller,
  } as unknown as WriteContext);
  return { places, move: () => writer.move(App, app, draft, () => unprocessable("taken")) };
}

test("a client that leaves meanwhile does not stop a move halfway", async () => {
  const { places, move } = setUp({});
  await move();
  expect([...places]).toEqual(["next"]);
});

test.each([
  ["its claim is given back", false],
  ["its claim cannot be given back", true],
])("a move that fails halfway leaves the object where it was: %s", async (_what, keepsClaim) => {
  const { places, move } = setUp({ closed: "next", keepsClaim });
  await expect(move()).rejects.toMatchObject({ code: 500 });
  expect([...places]).toEqual(["former"]);
});

test.each([
  ["is refused before its object is deleted", true, { status: 422, errors: [{ detail: "no" }, { detail: "nor" }] }],
  ["tells a caller without the right nothing of the policy", false, { status: 403 }],
])("a move that policy denies %s", async (_what, isAllowed, expected) => {
  const { places, move } = setUp({ refusals: ["no", "nor"], isAllowed });
  await expect(move()).rejects.toMatchObject(expected);
  expect([...places]).toEqual(["former"]);
});

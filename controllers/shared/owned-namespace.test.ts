// Labels of namespaces, and their deletion.
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { LABELS } from "../../crds/labels.ts";
import { Org } from "../../crds/org/org.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { KubeError } from "../../kube/client/errors.ts";
import type { ReconcileContext } from "../../kube/controller/controller.ts";
import type { KubeObject } from "../../kube/api/object.ts";
import { anOrg } from "../../crds/testing/objects.ts";
import {
  adoptNamespace,
  deleteNamespace,
  finalizeNamespaces,
  hasMetadata,
  ensureNamespace,
  type NamespaceObject,
} from "./owned-namespace.ts";

test("a namespace is right when it carries every label wanted and none that is not", () => {
  const seen = {
    metadata: { name: "n", labels: { a: "1", other: "x" }, annotations: { b: "2" } },
  } as unknown as NamespaceObject;
  expect(hasMetadata(seen, { labels: { a: "1", gone: undefined }, annotations: { b: "2" } })).toBe(true);
  expect(hasMetadata(seen, { labels: { a: "1", other: undefined }, annotations: {} })).toBe(false);
  expect(hasMetadata(seen, { labels: { a: "2" }, annotations: {} })).toBe(false);
});

describe("mirrored labels", () => {
  const org = anOrg();
  const stored = { [LABELS.ownerUid]: "uid-acme", team: "theirs", "org.cupola.dev/tier": "gold" };

  /** The patches that these labels cost. */
  async function ensure(labels: Record<string, string>): Promise<unknown[]> {
    const patches: unknown[] = [];
    const cached = { metadata: { name: "acme", labels: stored } };
    const context = {
      read: { list: () => [cached], find: () => cached },
      client: {
        patch: (_ref: unknown, _key: unknown, { body }: { body: { metadata: { labels: unknown } } }) =>
          Promise.resolve(void patches.push(body.metadata.labels)),
      },
    } as unknown as ReconcileContext;
    await ensureNamespace({ ref: Org, object: org }, ["acme"], { labels, annotations: {} }, context);
    return patches;
  }

  test("cost no write when they are right", async () =>
    expect(await ensure({ "org.cupola.dev/tier": "gold" })).toEqual([]));
  test("follow the label", async () =>
    expect(await ensure({ "org.cupola.dev/tier": "lead" })).toMatchObject([{ "org.cupola.dev/tier": "lead" }]));
  test("go with the label, and others stay", async () =>
    expect(await ensure({})).toEqual([{ [LABELS.ownerUid]: "uid-acme", "org.cupola.dev/tier": null }]));
});

describe("the end of an owner that others do not see yet", () => {
  const org = anOrg();
  const owner = { ref: Org, object: org };
  const namespace = (labels: Record<string, string> = { [LABELS.ownerUid]: "uid-acme" }): NamespaceObject =>
    ({ metadata: { name: "acme", uid: "n1", resourceVersion: "7", labels } }) as unknown as NamespaceObject;
  const meta = { labels: {}, annotations: {} };

  interface State {
    cached?: NamespaceObject[];
    live?: NamespaceObject[];
    owner?: KubeObject;
    /** Errors of the first requests for the owner. */
    failures?: KubeError[];
    signal?: AbortSignal;
  }

  /** A context with these cached objects, and a server with the given owner. */
  function contextOf(state: State): { context: ReconcileContext; writes: string[] } {
    const writes: string[] = [];
    const failures = [...(state.failures ?? [])];
    const client = {
      list: () => Promise.resolve({ items: state.live ?? [] }),
      find: () => (failures.length > 0 ? Promise.reject(failures.shift()!) : Promise.resolve(state.owner)),
      create: () => Promise.resolve(namespace()),
      delete: (_ref: unknown, { name }: { name: string }, { preconditions }: { preconditions: { uid: string } }) =>
        Promise.resolve(void writes.push(`delete ${name} ${preconditions.uid}`)),
      patch: (
        _ref: unknown,
        { name }: { name: string },
        { body }: { body: { metadata: { resourceVersion?: string } } },
      ) => Promise.resolve(void writes.push(`patch ${name} at ${body.metadata.resourceVersion}`)),
    } as unknown as KubeClient;
    const read = { list: () => state.cached ?? [], find: () => undefined } as unknown as ReconcileContext["read"];
    return {
      context: {
        client,
        read,
        signal: state.signal ?? new AbortController().signal,
        log: { warn: () => undefined },
      } as unknown as ReconcileContext,
      writes,
    };
  }

  test("a namespace that the cache does not show ends too", async () => {
    const { context, writes } = contextOf({ live: [namespace()] });
    expect(await finalizeNamespaces(org, (found) => deleteNamespace(found, context), context)).toMatchObject({
      ready: { reason: "NamespaceTerminating" },
    });
    expect(writes).toEqual(["delete acme n1"]);
  });

  test("a namespace that something holds says what", async () => {
    const message = "Some content in the namespace has finalizers remaining: example.com/x in 1 resource instances";
    const conditions = [
      { type: "NamespaceDeletionContentFailure", status: "False", message: "All content successfully deleted" },
      { type: "NamespaceFinalizersRemaining", status: "True", message },
    ];
    const held = { ...namespace(), status: { phase: "Terminating", conditions } } as unknown as NamespaceObject;
    const { context } = contextOf({ live: [held] });
    expect(await finalizeNamespaces(org, (found) => deleteNamespace(found, context), context)).toMatchObject({
      ready: { message: `waiting until namespace acme is gone: ${message}` },
    });
  });

  test("without a namespace the deletion is done", async () => {
    const { context } = contextOf({});
    expect(await finalizeNamespaces(org, (found) => deleteNamespace(found, context), context)).toBeUndefined();
  });

  test.each<[string, KubeObject | undefined]>([
    ["is gone", undefined],
    ["is being deleted", { ...org, metadata: { ...org.metadata, deletionTimestamp: "2026-01-01T00:00:01Z" } }],
    ["is another by now", { ...org, metadata: { ...org.metadata, uid: "another" } }],
  ])("a namespace made for an owner that %s goes again", async (_what, live) => {
    const { context, writes } = contextOf({ ...(live && { owner: live }) });
    await expect(ensureNamespace(owner, ["acme"], meta, context)).rejects.toMatchObject({ reason: "Deleted" });
    expect(writes).toEqual(["delete acme n1"]);
  });

  test("one made for an owner that is there stays", async () => {
    const { context, writes } = contextOf({ owner: org });
    expect(await ensureNamespace(owner, ["acme"], meta, context)).toBe("acme");
    expect(writes).toEqual([]);
  });

  test("a namespace is adopted as it was judged, and given back when its owner has ended", async () => {
    const { context, writes } = contextOf({});
    const release = (): Promise<void> => Promise.resolve(void writes.push("release"));
    await expect(adoptNamespace(owner, namespace({}), { meta, release }, context)).rejects.toMatchObject({
      reason: "Deleted",
    });
    expect(writes).toEqual(["patch acme at 7", "release"]);
  });

  describe("and a server that does not always answer", () => {
    beforeEach(() => void vi.useFakeTimers());
    afterEach(() => void vi.useRealTimers());
    const unanswered = new KubeError({ reason: "Deadline" });
    const failing = new KubeError({ code: 500, reason: "InternalError" });

    /** The result after all of its delays. */
    async function endOf(work: Promise<unknown>): Promise<unknown> {
      const settled = work.catch((error: unknown) => error);
      await vi.advanceTimersByTimeAsync(60_000);
      return await settled;
    }

    test("the namespace is read until its owner label is known", async () => {
      const { context, writes } = contextOf({ failures: [unanswered, failing] });
      expect(await endOf(ensureNamespace(owner, ["acme"], meta, context))).toMatchObject({ reason: "Deleted" });
      expect(writes).toEqual(["delete acme n1"]);
    });

    test("a namespace that may hold other objects is deleted only with its owner", async () => {
      const { context, writes } = contextOf({
        owner: { ...org, metadata: { ...org.metadata, deletionTimestamp: "2026-01-01T00:00:01Z" } },
        failures: [unanswered],
      });
      expect(await endOf(ensureNamespace(owner, ["acme"], meta, context))).toMatchObject({ reason: "Deleted" });
      expect(writes).toEqual([]);
    });

    test("it is not asked any more when this process stops", async () => {
      const { context } = contextOf({ failures: [unanswered], signal: AbortSignal.abort() });
      expect(await endOf(ensureNamespace(owner, ["acme"], meta, context))).toBe(unanswered);
    });

    test("a refusal is an answer", async () => {
      const forbidden = new KubeError({ code: 403, reason: "Forbidden" });
      const { context } = contextOf({ failures: [forbidden] });
      expect(await endOf(ensureNamespace(owner, ["acme"], meta, context))).toBe(forbidden);
    });

    test("a namespace that changes while it is given back is given back as it is then", async () => {
      const { context, writes } = contextOf({});
      const conflicts = [new KubeError({ code: 409, reason: "Conflict" })];
      const release = (): Promise<void> => {
        writes.push("release");
        const conflict = conflicts.shift();
        return conflict ? Promise.reject(conflict) : Promise.resolve();
      };
      expect(await endOf(adoptNamespace(owner, namespace({}), { meta, release }, context))).toMatchObject({
        reason: "Deleted",
      });
      expect(writes).toEqual(["patch acme at 7", "release", "release"]);
    });
  });
});

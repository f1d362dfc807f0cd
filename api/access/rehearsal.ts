// Runs the writes of a request without writing anything, so that operator policy judges all of them before the first is made.
import type { Draft, KubeClient } from "../../kube/client/client.ts";
import { mergePatch } from "../../kube/api/merge-patch.ts";
import { objectKey, type KubeObject } from "../../kube/api/object.ts";
import type { ResourceRef } from "../../kube/api/resource-ref.ts";
import type { AccessAttributes } from "../cache/rbac-authorizer.ts";
import { refusedByPolicy, toReviewedObjects, type PlannedWrite } from "./policy-check.ts";
import type { Session, SessionWriter } from "./session.ts";
import { authorizeWrite, type WriteContext } from "./session-writes.ts";

/** `session` is the request's own. */
export function createRehearsal(
  session: Session,
  context: Pick<WriteContext, "policy" | "permissions" | "reportUndeclared">,
): Session["rehearse"] {
  return async (kinds, work, planned = []) => {
    if (!kinds.some((ref) => context.policy.judges(ref))) return [];
    const refusals = new Set<string>();
    const judge: Judge = async (ref, write, asked) => {
      await authorizeWrite(context, { on: ref, ...asked });
      for (const one of context.policy.refusals(ref, write, planned)) refusals.add(one);
      const { object } = toReviewedObjects(ref, write) ?? {};
      if (object) planned.push(object);
    };
    const rehearsed: Session = {
      ...session,
      ...createJudgingWriter(judge),
      platformClient: withoutRequests(session.platformClient),
      recordAppEvent: () => undefined,
      waitForOwnEvents: () => undefined,
      publishObserved: () => Promise.resolve(),
      holdWhile: () => Promise.resolve(),
      rehearse: () => Promise.resolve([]),
    };
    try {
      await work(rehearsed);
    } catch {
      // Any other mistake shows, in its own words, when the writes are made.
    }
    return [...refusals];
  };
}

/** Makes the writes of `work`, or none of them when operator policy denies one. @throws CFError 422 with the sentences of all denials */
export async function writeAllOrNone<T>(
  session: Session,
  kinds: readonly ResourceRef[],
  work: (session: Session) => Promise<T>,
): Promise<T> {
  const refusals = await session.rehearse(kinds, work);
  if (refusals.length > 0) throw refusedByPolicy(refusals);
  return await work(session);
}

type Judge = (ref: ResourceRef, write: PlannedWrite, asked: Omit<AccessAttributes, "on">) => Promise<void>;

function createJudgingWriter(judge: Judge): SessionWriter {
  const create = async <T extends KubeObject>(ref: ResourceRef<T>, draft: Draft): Promise<T> => {
    const { namespace } = draft.metadata;
    await judge(ref, { draft }, { verb: "create", ...(namespace && { namespace }) });
    return toCreated<T>(ref, draft);
  };
  const patch: SessionWriter["patch"] = async (ref, object, change) => {
    await judge(ref, { object, patch: change }, { verb: "patch", ...objectKey(object) });
    return change.type === "merge" ? (mergePatch(object, change.body) as typeof object) : object;
  };
  return {
    create,
    patch,
    patchWithRetry: async (ref, object, toBody) => {
      const body = toBody(object);
      return body ? patch(ref, object, { type: "merge", body }) : object;
    },
    move: (ref, _object, draft) => create(ref, draft),
    delete: () => Promise.resolve(),
  };
}

/** A uid and a version, which only a stored object has, for work that goes on with it. */
function toCreated<T extends KubeObject>(ref: ResourceRef, draft: Draft): T {
  const object = toReviewedObjects(ref, { draft })?.object ?? draft;
  return { ...object, metadata: { uid: "", resourceVersion: "", ...object.metadata } } as unknown as T;
}

/** Secrets, which the platform writes for callers, are none of policy's business: there are none, and none is written. */
function withoutRequests(client: KubeClient): KubeClient {
  const answer = async <T extends KubeObject>(ref: ResourceRef<T>, draft: Draft): Promise<T> =>
    toCreated<T>(ref, draft);
  return {
    ...client,
    find: () => Promise.resolve(undefined),
    create: answer,
    update: answer,
    patch: async (ref, key) => toCreated(ref, { metadata: key }),
    delete: (ref, key) => Promise.resolve(toCreated(ref, { metadata: key })),
  };
}

// Creates the session of one request. Reads come from the cache; session-writes.ts has the writes.
import type { KubeClient } from "../../kube/client/client.ts";
import { objectKey, type KubeObject } from "../../kube/api/object.ts";
import type { Store } from "../../kube/cache/reader.ts";
import type { ResourceRef } from "../../kube/api/resource-ref.ts";
import type { CallerPermissions } from "./caller-permissions.ts";
import { newlyUndeclared } from "./declared-permissions.ts";
import type { AccessAttributes } from "../cache/rbac-authorizer.ts";
import { createCallerPermissions } from "./create-caller-permissions.ts";
import { findReviewTargets } from "./review-targets.ts";
import { isNameHolder } from "./name-claims.ts";
import { notAuthorized, notFound } from "../http/errors.ts";
import { requireNotSuspended } from "./suspension.ts";
import { kindTitle } from "../http/kind-title.ts";
import { createPolicyCheck } from "./policy-check.ts";
import { createRehearsal } from "./rehearsal.ts";
import { createSessionWriter, type WriteContext } from "./session-writes.ts";
import type { ClusterCache } from "../cache/cluster-cache.ts";
import type { ListScope, Session, SessionDeps, SessionReader, SessionRequest, SessionWriter } from "./session.ts";

export function createSession(deps: SessionDeps, request: SessionRequest): Session {
  const permissions = createCallerPermissions({ authorizer: deps.cache.authorizer, review: deps.review }, request);
  const reader = createSessionReader(deps, request, permissions);
  // Created on the first write: most requests only read.
  let writes: WriteSide | undefined;
  const forWrites = (): WriteSide => (writes ??= createWriteSide(deps, request, { session, permissions }));
  const { recorder, peers, platformClient } = deps;
  const session: Session = Object.assign(reader, {
    platformClient,
    create: (...write) => forWrites().writer.create(...write),
    patch: (...write) => forWrites().writer.patch(...write),
    patchWithRetry: (...write) => forWrites().writer.patchWithRetry(...write),
    move: (...write) => forWrites().writer.move(...write),
    delete: (...write) => forWrites().writer.delete(...write),
    rehearse: (...rehearsal) => forWrites().rehearse(...rehearsal),
    publishObserved: (refs) => peers.publishObserved(refs),
    recordAppEvent: (...event) => recorder?.recordAppEvent(request, ...event),
    waitForOwnEvents: () => recorder?.waitForOwnEvents(request.caller),
  } satisfies Omit<Session, keyof SessionReader>);
  return session;
}

interface WriteSide {
  writer: SessionWriter;
  rehearse: Session["rehearse"];
}

function createWriteSide(
  { policies, cache, peers, platformClient, recorder, ...deps }: SessionDeps,
  request: SessionRequest,
  { session, permissions }: { session: Session; permissions: CallerPermissions },
): WriteSide {
  const { caller, warn = () => undefined } = request;
  let callerClient: KubeClient | undefined;
  const context: WriteContext = {
    cache,
    peers,
    permissions,
    platformClient,
    warn,
    signal: session.signal,
    now: session.now,
    allows: session.allows,
    policy: createPolicyCheck({ policies, cache, caller, warn }),
    reportUndeclared: (asked) => reportUndeclared(deps, request, asked),
    callerClient: () => (callerClient ??= caller.connect(platformClient)),
  };
  const writer = createSessionWriter(context);
  return { writer: recorder?.observe(writer, request) ?? writer, rehearse: createRehearsal(session, context) };
}

/** Logs a question that the endpoint does not declare: where permissions are reviewed, nobody has the permission then. */
function reportUndeclared(
  { log }: Pick<SessionDeps, "log">,
  { declared }: SessionRequest,
  asked: AccessAttributes,
): void {
  const undeclared = newlyUndeclared(declared, asked);
  if (undeclared)
    log.error({ endpoint: declared.endpoint, undeclared }, "the endpoint does not declare a permission that it asks");
}

function createSessionReader(
  deps: SessionDeps,
  request: SessionRequest,
  permissions: CallerPermissions,
): SessionReader {
  const { cache, now, heldReads, apiHosts, usesUAA } = deps;
  const { caller, signal } = request;
  const reader: SessionReader = {
    ...{ caller, cache, apiHosts, usesUAA, signal, now },
    canCacheLists: permissions.isCacheable,
    judge: (values, listed) => permissions.judge?.(findReviewTargets(cache, values, listed)),
    allows(asked) {
      reportUndeclared(deps, request, asked);
      return permissions.allows(asked);
    },
    authorize(asked) {
      if (!reader.allows(asked)) throw notAuthorized();
    },
    canSee: (ref, object) =>
      isNameHolder(cache, ref, object) && reader.allows({ verb: "get", on: ref, ...objectKey(object) }),
    find(ref, guid) {
      const object = cache.findByGUID(ref, guid);
      return object && reader.canSee(ref, object) ? object : undefined;
    },
    get(ref, guid) {
      const object = reader.find(ref, guid);
      if (!object) throw notFound(kindTitle(ref));
      requirePermissions(reader, request, ref, object);
      return object;
    },
    list: (ref, within, filter) => listVisible({ cache, permissions }, ref, within, filter),
    visibleNamespaces: (ref) => (ref.namespaced ? permissions.visibleNamespaces(ref) : undefined),
    holdWhile: measuredHolds(heldReads, request),
  };
  return reader;
}

/** A request that is held is not slow. */
function measuredHolds(heldReads: SessionDeps["heldReads"], request: SessionRequest): SessionReader["holdWhile"] {
  return async (refs, isUnderWay, maxMs) => {
    const startedAt = performance.now();
    await heldReads.holdWhile(refs, isUnderWay, { signal: request.signal, maxMs });
    request.onHeld?.(performance.now() - startedAt);
  };
}

/** Here, before the handler sees the object, so that no shortcut in a handler can skip the permission check. @throws CFError 403 */
function requirePermissions(
  session: Pick<Session, "authorize" | "cache" | "allows">,
  { permission }: SessionRequest,
  ref: ResourceRef,
  object: KubeObject,
): void {
  const required = typeof permission === "string" ? [] : [permission].flat();
  for (const { verb, on, subresource } of required) {
    if (on.kind !== ref.kind || verb === "create") continue;
    session.authorize({ verb, on, ...(subresource && { subresource }), ...objectKey(object) });
    if (verb !== "get") requireNotSuspended(session, object.metadata.namespace);
  }
}

/** The visible objects of a kind. By RBAC this scans only namespaces in which the caller has a role, unless a cluster-wide rule applies. */
function listVisible<T extends KubeObject>(
  { cache, permissions }: { cache: ClusterCache; permissions: CallerPermissions },
  ref: ResourceRef<T>,
  scope: ListScope = {},
  filter: (object: T) => boolean = () => true,
): T[] {
  const store = cache.store(ref);
  const visible = permissions
    .filterVisible(ref, listCandidates(store, permissions, ref, scope))
    .filter((object) => filter(object) && isNameHolder(cache, ref, object));
  return store.synced ? visible : store.list();
}

function listCandidates<T extends KubeObject>(
  store: Store<T>,
  permissions: CallerPermissions,
  ref: ResourceRef<T>,
  scope: ListScope,
): Iterable<T> {
  if (scope.index) return store.byIndex(scope.index[0], scope.index[1]);
  const namespaces = scope.namespaces ?? (ref.namespaced ? permissions.visibleNamespaces(ref) : undefined);
  return namespaces ? namespaces.flatMap((namespace) => store.list({ namespace })) : store.list();
}

// Network policies as Cloud Foundry's policy server has them, below /networking/v1/external: which app may connect to which.
import type { z } from "zod";
import { App } from "../../crds/app/app.ts";
import { AppPolicy } from "../../crds/app-policy/app-policy.ts";
import { appPolicyName, MAX_POLICIES_OF_APP } from "../../crds/app-policy/rules.ts";
import { CFError, unprocessable } from "../http/errors.ts";
import { isOneOf } from "../lists/list-objects.ts";
import { endpoint, ok, type Endpoint } from "../routing/endpoint.ts";
import type { Session } from "../access/session.ts";
import { policiesBody, policiesQuery, type PolicyInput } from "./payload.ts";

/** As many as Cloud Foundry allows. */
const MAX_POLICIES_OF_SOURCE = 150;
const path = "/networking/v1/external/policies";

interface PresentedPolicy {
  source: { id: string };
  destination: { id: string; protocol: string; ports: { start: number; end: number } };
}

/** Undefined for a policy whose apps are gone, or whose source the caller may not see. */
function present(session: Session, { metadata, spec }: AppPolicy): PresentedPolicy | undefined {
  const guidOf = (namespace: string, name: string): string | undefined => {
    const app = session.cache.store(App).find({ namespace, name });
    return app && session.canSee(App, app) ? session.cache.guid(App, app) : undefined;
  };
  const source = guidOf(spec.source.namespace, spec.source.app);
  const destination = guidOf(metadata.namespace ?? "", spec.destination.app);
  if (source === undefined || destination === undefined) return undefined;
  const { protocol, ports } = spec;
  return { source: { id: source }, destination: { id: destination, protocol, ports } };
}

function listPolicies(session: Session, query: z.output<typeof policiesQuery>): PresentedPolicy[] {
  return session
    .list(AppPolicy)
    .flatMap((policy) => present(session, policy) ?? [])
    .filter(
      ({ source, destination }) =>
        isOneOf(query.source_id, source.id) &&
        isOneOf(query.dest_id, destination.id) &&
        (isOneOf(query.id, source.id) || isOneOf(query.id, destination.id)),
    );
}

interface Wanted {
  namespace: string;
  spec: AppPolicy["spec"];
}

/** @throws CFError 422 for an app that is not there, or not the caller's to see */
function toWanted(session: Session, { source, destination }: PolicyInput): Wanted {
  const appOf = (guid: string): App => {
    const app = session.find(App, guid);
    if (!app) throw unprocessable(`The app with the guid "${guid}" does not exist, or you may not see it.`);
    return app;
  };
  const [from, to] = [appOf(source.id), appOf(destination.id)];
  const { protocol, ports } = destination;
  return {
    namespace: to.metadata.namespace ?? "",
    spec: {
      source: { namespace: from.metadata.namespace ?? "", app: from.metadata.name },
      destination: { app: to.metadata.name },
      protocol,
      ports,
    },
  };
}

/** Every policy needs the right on both sides. @throws CFError 403 */
function authorize(session: Session, verb: "create" | "delete", { namespace, spec }: Wanted): void {
  for (const one of [namespace, spec.source.namespace])
    if (!session.allows({ verb, on: AppPolicy, namespace: one })) throw new CFError("NotAuthorized");
}

/** Each source app has its own number, and each destination. @throws CFError 422 */
function requireRoom({ cache }: Session, wanted: readonly Wanted[]): void {
  const sides = [
    {
      index: "source",
      most: MAX_POLICIES_OF_SOURCE,
      keyOf: ({ spec }: Wanted) => `${spec.source.namespace}/${spec.source.app}`,
    },
    {
      index: "destination",
      most: MAX_POLICIES_OF_APP,
      keyOf: ({ namespace, spec }: Wanted) => `${namespace}/${spec.destination.app}`,
    },
  ];
  for (const { index, most, keyOf } of sides)
    for (const [key, group] of Map.groupBy(wanted, keyOf)) {
      const known = cache.store(AppPolicy).byIndex(index, key);
      const names = new Set([...known, ...group].map(({ spec }) => appPolicyName(spec)));
      if (names.size > most && names.size > new Set(known.map(({ spec }) => appPolicyName(spec))).size)
        throw unprocessable(`An app may be the ${index} of at most ${most} policies. Remove others first.`);
    }
}

async function add(session: Session, { namespace, spec }: Wanted): Promise<void> {
  const name = appPolicyName(spec);
  if (session.cache.store(AppPolicy).find({ namespace, name })) return;
  // Somebody else may just have made the same one.
  const isThere = new CFError("UniquenessError", "The policy exists already.");
  try {
    await session.create(AppPolicy, { metadata: { namespace, name }, spec }, () => isThere);
  } catch (error) {
    if (error !== isThere) throw error;
  }
}

async function remove(session: Session, { namespace, spec }: Wanted): Promise<void> {
  const found = session.cache
    .store(AppPolicy)
    .list({ namespace })
    .filter((policy) => appPolicyName(policy.spec) === appPolicyName(spec));
  for (const policy of found) await session.delete(AppPolicy, policy);
}

export const appPolicyEndpoints: readonly Endpoint[] = [
  endpoint({
    method: "GET",
    path,
    permission: "authenticated",
    query: policiesQuery,
    summary: "List network policies between apps",
    handler: ({ session, query }) => {
      const policies = listPolicies(session, query);
      return ok({ total_policies: policies.length, policies });
    },
  }),
  endpoint({
    method: "POST",
    path,
    permission: { verb: "create", on: AppPolicy },
    body: policiesBody,
    summary: "Let apps connect to others",
    handler: async ({ session, body }) => {
      const wanted = body.policies.map((policy) => toWanted(session, policy));
      for (const one of wanted) authorize(session, "create", one);
      requireRoom(session, wanted);
      for (const one of wanted) await add(session, one);
      return ok({});
    },
  }),
  endpoint({
    method: "POST",
    path: `${path}/delete`,
    permission: { verb: "delete", on: AppPolicy },
    body: policiesBody,
    summary: "Delete network policies between apps",
    handler: async ({ session, body }) => {
      const wanted = body.policies.map((policy) => toWanted(session, policy));
      for (const one of wanted) authorize(session, "delete", one);
      for (const one of wanted) await remove(session, one);
      return ok({});
    },
  }),
];

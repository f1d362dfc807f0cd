// The condition of an AppPolicy: whether its apps are there, whether it is one too many, and whether anything here keeps other apps from connecting. Pure.
import type { App } from "../../crds/app/app.ts";
import { compareAge, endsWithApps, isMeant, MAX_POLICIES_OF_APP } from "../../crds/app-policy/rules.ts";
import type { AppPolicy } from "../../crds/app-policy/app-policy.ts";
import type { ReadyDraft } from "../../kube/controller/controller.ts";

/** Each of N policies too many looks at all N, so seldom. */
const CROWDED_MS = 10 * 60_000;

export interface AppPolicyInput {
  policy: AppPolicy;
  source: App | undefined;
  destination: App | undefined;
  /** Policies with one of its apps on either side. */
  others: readonly AppPolicy[];
  /** Undefined where the settings are wrong, which the spaces say. */
  isolation: boolean | undefined;
}

/** Is it over, as the policies of the CF API are when one of their apps has been deleted? */
export function isOver({
  policy,
  source,
  destination,
}: Pick<AppPolicyInput, "policy" | "source" | "destination">): boolean {
  const { sourceUID, destinationUID } = policy.status ?? {};
  if (!endsWithApps(policy) || sourceUID === undefined || destinationUID === undefined) return false;
  return source?.metadata.uid !== sourceUID || destination?.metadata.uid !== destinationUID;
}

/** The apps that it is about, once both are there. */
export function planStatus({ policy, source, destination }: AppPolicyInput): Record<string, unknown> {
  if (!source || !destination) return {};
  if (!isMeant(policy, "source", source) || !isMeant(policy, "destination", destination)) return {};
  return { sourceUID: source.metadata.uid, destinationUID: destination.metadata.uid };
}

/** Was the policy's status made for the app that has this name now? Then a change of the app tells it nothing new. `uid`: undefined while there is none. */
export function knowsApp(
  { metadata, spec, status }: AppPolicy,
  app: { namespace?: string | undefined; name: string },
  uid: string | undefined,
): boolean {
  if (uid === undefined) return false;
  const isSource = spec.source.namespace === app.namespace && spec.source.app === app.name;
  const isDestination = metadata.namespace === app.namespace && spec.destination.app === app.name;
  return (!isSource || status?.sourceUID === uid) && (!isDestination || status?.destinationUID === uid);
}

export function planAppPolicy(input: AppPolicyInput): ReadyDraft {
  const { policy, source, destination, isolation } = input;
  const { spec } = policy;
  if (!source) return missing(`app ${spec.source.app} of its source is not in namespace ${spec.source.namespace}`);
  if (!destination) return missing(`app ${spec.destination.app} is not in this namespace`);
  const crowded = findCrowdedSide(input);
  if (crowded)
    return {
      status: "False",
      reason: "TooManyPolicies",
      message: `its ${crowded} has ${MAX_POLICIES_OF_APP} older policies, and this one opens nothing: delete others`,
      isFailure: true,
    };
  if (isolation === false)
    return {
      status: "True",
      reason: "NotEnforced",
      message: "kept, but nothing here separates apps: every app reaches every other",
    };
  return { status: "True", reason: "Open", message: "opened by NetworkPolicies of both namespaces" };
}

/** The spaces open a policy at once when an older one is deleted; its condition says so later. */
export function planRequeue({ reason }: ReadyDraft): { requeueAfterMs?: number } {
  return reason === "TooManyPolicies" ? { requeueAfterMs: CROWDED_MS } : {};
}

function findCrowdedSide({ policy, others }: AppPolicyInput): "source" | "destination" | undefined {
  if (others.length < MAX_POLICIES_OF_APP) return undefined;
  const older = others.filter((other) => !other.metadata.deletionTimestamp && compareAge(other, policy) < 0);
  const { source, destination } = policy.spec;
  const from = older.filter(({ spec }) => spec.source.namespace === source.namespace && spec.source.app === source.app);
  if (from.length >= MAX_POLICIES_OF_APP) return "source";
  const into = older.filter(
    ({ metadata, spec }) =>
      metadata.namespace === policy.metadata.namespace && spec.destination.app === destination.app,
  );
  return into.length >= MAX_POLICIES_OF_APP ? "destination" : undefined;
}

function missing(message: string): ReadyDraft {
  return { status: "False", reason: "AppMissing", message, isFailure: true };
}

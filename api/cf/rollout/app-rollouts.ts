// The Rollouts of an app, and CF's states of deployments.
import type { App } from "../../../crds/app/app.ts";
import { Rollout } from "../../../crds/rollout/rollout.ts";
import { effectiveState, sortRollouts } from "../../../crds/rollout/rules.ts";
import type { ClusterCache } from "../../cache/cluster-cache.ts";
import { unprocessable } from "../../http/errors.ts";

const PROGRESSING = ["DEPLOYING", "PREPAUSED", "PAUSED"] as const;
export type DeploymentState = (typeof PROGRESSING)[number] | "CANCELING" | "DEPLOYED" | "CANCELED";

/** CF's state, and its public form. */
export interface DeploymentStatus {
  state: DeploymentState;
  value: "ACTIVE" | "FINALIZED";
  reason: "DEPLOYING" | "PAUSED" | "CANCELING" | "DEPLOYED" | "CANCELED" | "SUPERSEDED";
}

const STATES = {
  Deploying: { state: "DEPLOYING", value: "ACTIVE", reason: "DEPLOYING" },
  Prepaused: { state: "PREPAUSED", value: "ACTIVE", reason: "DEPLOYING" },
  Paused: { state: "PAUSED", value: "ACTIVE", reason: "PAUSED" },
  Canceling: { state: "CANCELING", value: "ACTIVE", reason: "CANCELING" },
  Deployed: { state: "DEPLOYED", value: "FINALIZED", reason: "DEPLOYED" },
  Canceled: { state: "CANCELED", value: "FINALIZED", reason: "CANCELED" },
} as const satisfies Record<string, DeploymentStatus>;

/** The newest Rollout of an app. */
export function newestRollout(cache: ClusterCache, app: Pick<App, "metadata">): Rollout | undefined {
  return sortRollouts(cache.store(Rollout).byIndex("app", `${app.metadata.namespace}/${app.metadata.name}`))[0];
}

export function deploymentStatus(cache: ClusterCache, rollout: Rollout): DeploymentStatus {
  const { namespace } = rollout.metadata;
  const { state, superseded } = effectiveState(
    rollout,
    newestRollout(cache, { metadata: { namespace, name: rollout.spec.appRef.name } }),
  );
  return superseded ? { ...STATES[state], reason: "SUPERSEDED" } : STATES[state];
}

/** The Rollout that replaces an app's instances now, a cancellation included. */
export function activeRollout(cache: ClusterCache, app: App): Rollout | undefined {
  const newest = newestRollout(cache, app);
  return newest && deploymentStatus(cache, newest).value === "ACTIVE" ? newest : undefined;
}

/** @throws CFError 422 with this text while a deployment replaces the app's instances; a cancellation does not count, as in CF */
export function requireNoDeployment(cache: ClusterCache, app: App | undefined, text: string): void {
  const active = app && activeRollout(cache, app);
  if (active && (PROGRESSING as readonly string[]).includes(deploymentStatus(cache, active).state))
    throw unprocessable(text);
}

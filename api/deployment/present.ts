// Presents a Rollout as CF's deployment.
import { Droplet } from "../../crds/droplet/droplet.ts";
import { Rollout } from "../../crds/rollout/rollout.ts";
import { Revision } from "../../crds/revision/revision.ts";
import { currentStep, rolloutProcessGUID, totalSteps } from "../../crds/rollout/rules.ts";
import { omitUndefined } from "../../kube/api/omit-undefined.ts";
import type { ClusterCache } from "../cache/cluster-cache.ts";
import { appGUIDOf, appOf } from "../cf/app/owner-app.ts";
import { hasRevisions, releaseOf, revisionNamed } from "../cf/rollout/app-revisions.ts";
import { deploymentStatus, type DeploymentStatus } from "../cf/rollout/app-rollouts.ts";
import { link, presentIdentity, presentMetadata, toOneRelationship } from "../http/presentation.ts";
import { toTime } from "../../kube/api/times.ts";

export function presentDeployment(cache: ClusterCache, rollout: Rollout, base: string): object {
  const at = presentIdentity(cache, Rollout, rollout);
  const app = appGUIDOf(cache, rollout);
  const status = deploymentStatus(cache, rollout);
  const { spec } = rollout;
  return {
    ...at,
    status: presentStatus(rollout, status, at.created_at),
    strategy: spec.strategy,
    options: presentOptions(rollout),
    droplet: { guid: dropletGUID(cache, rollout, findDropletName(cache, rollout)) },
    previous_droplet: { guid: dropletGUID(cache, rollout, spec.previousDroplet?.name) },
    new_processes: spec.startsApp ? [] : [{ guid: rolloutProcessGUID(rollout), type: "web" }],
    revision: presentRevisionOf(cache, rollout),
    relationships: { app: toOneRelationship(app) },
    ...presentMetadata(rollout),
    links: {
      self: link(`${base}/v3/deployments/${at.guid}`),
      app: link(`${base}/v3/apps/${app}`),
      ...(status.value === "ACTIVE" && {
        cancel: link(`${base}/v3/deployments/${at.guid}/actions/cancel`, "POST"),
      }),
      ...(status.state === "PAUSED" && {
        continue: link(`${base}/v3/deployments/${at.guid}/actions/continue`, "POST"),
      }),
    },
  };
}

function presentStatus(rollout: Rollout, { value, reason }: DeploymentStatus, createdAt: string): object {
  const { status, spec } = rollout;
  return {
    value,
    reason,
    details: {
      last_successful_healthcheck: toTime(status?.lastHealthyTime ?? createdAt),
      last_status_change: toTime(status?.stateTime ?? createdAt),
      ...(value === "ACTIVE" && status?.error !== undefined && { error: status.error }),
    },
    ...(spec.strategy === "canary" && {
      canary: { steps: { current: currentStep(rollout), total: totalSteps(rollout) } },
    }),
  };
}

function presentOptions({ spec }: Rollout): object {
  return omitUndefined({
    max_in_flight: spec.maxInFlight,
    web_instances: spec.instances,
    memory_in_mb: spec.memoryMB,
    disk_in_mb: spec.diskMB,
    log_rate_limit_in_bytes_per_second: spec.logRateLimitBytesPerSecond,
    canary: spec.canarySteps && {
      steps: spec.canarySteps.map(({ instanceWeight }) => ({ instance_weight: instanceWeight })),
    },
  });
}

/** The droplet that the Rollout names, else that of its Revision, else the app's. */
function findDropletName(cache: ClusterCache, rollout: Rollout): string | undefined {
  const app = appOf(cache, rollout);
  const revision = app && revisionNamed(cache, app, rollout.status?.revision);
  return (rollout.spec.droplet ?? revision?.spec.dropletRef ?? app?.spec.droplet)?.name;
}

function dropletGUID(cache: ClusterCache, { metadata }: Rollout, name: string | undefined): string | null {
  const droplet = name && cache.store(Droplet).find({ namespace: metadata.namespace ?? "", name });
  return droplet ? cache.guid(Droplet, droplet) : null;
}

/** Null while the app's feature revisions is off, and for the moment until the revision is made. */
function presentRevisionOf(cache: ClusterCache, rollout: Rollout): object | null {
  const app = appOf(cache, rollout);
  const release = app && hasRevisions(app) ? releaseOf(cache, app, rollout.status?.revision) : undefined;
  return release ? { guid: cache.guid(Revision, release), version: release.spec.release } : null;
}

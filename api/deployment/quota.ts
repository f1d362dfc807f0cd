// Refuses a deployment for which a quota has no room, in CF's words.
import type { App } from "../../crds/app/app.ts";
import { displayNameOf } from "../../crds/object-names.ts";
import type { Process } from "../../crds/process/process.ts";
import { defaultInstances } from "../../crds/process/defaults.ts";
import type { Rollout } from "../../crds/rollout/rollout.ts";
import { goalOf } from "../../crds/rollout/rules.ts";
import { omitUndefined } from "../../kube/api/omit-undefined.ts";
import type { Session } from "../access/session.ts";
import { requireProcessQuota } from "../cf/quota/check.ts";
import { CFError, unprocessable } from "../http/errors.ts";

/** As in CF, the first new instances must fit beside all that run. @throws CFError 422 */
export function requireDeploymentQuota(
  session: Session,
  app: App,
  { processes, spec }: { processes: readonly Process[]; spec: Rollout["spec"] },
): void {
  const web = processes.find((process) => process.spec.type === "web");
  if (!web) return;
  const wanted = web.spec.instances ?? defaultInstances("web");
  const { limit, maxInFlight } = goalOf({ metadata: web.metadata, spec } as Rollout, wanted);
  const { memoryMB, logRateLimitBytesPerSecond } = spec;
  const sizes = omitUndefined({ memoryMB, logRateLimitBytesPerSecond });
  const withInstances = (instances: number): Process => ({ ...web, spec: { ...web.spec, ...sizes, instances } });
  try {
    if (app.spec.state === "Stopped") {
      const others = processes.filter((process) => process !== web);
      requireProcessQuota(session, [withInstances(spec.instances ?? wanted), ...others]);
    } else requireProcessQuota(session, [web, withInstances(Math.min(limit, maxInFlight))]);
  } catch (error) {
    throw explain(session, app, error);
  }
}

const ADVICE = "quota may not be large enough to support rolling deployments or your configured max-in-flight.";

function explain({ cache }: Session, { metadata }: App, error: unknown): unknown {
  if (!(error instanceof CFError)) return error;
  const space = cache.spaceOf(metadata.namespace);
  const org = space && cache.orgOf(space.metadata.namespace);
  if (space && /space_(app_instance_limit|quota)_exceeded/.test(error.message))
    return unprocessable(`${error.message} for space ${displayNameOf(space)}. This space's ${ADVICE}`);
  if (org && /(app_instance_limit|quota)_exceeded/.test(error.message))
    return unprocessable(`${error.message} for organization ${displayNameOf(org)}. This organization's ${ADVICE}`);
  return error;
}

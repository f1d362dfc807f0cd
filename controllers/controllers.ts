// All controllers of CF's kinds. Those that ask service brokers are one leader's; the others need none: each is a pure translation, and claims decide races.
import type { MakeDropletImage } from "../blobs/registry/images/make-droplet-image.ts";
import type { IsKnownToAll } from "../crds/replica/skew.ts";
import type { Controller } from "../kube/controller/controller.ts";
import { adjustmentController } from "./adjustment/adjustment.ts";
import { appController, appGUIDController } from "./app/app.ts";
import { appPolicyController } from "./app-policy/app-policy.ts";
import { auditLogController } from "./audit-log/audit-log.ts";
import { buildController } from "./build/build.ts";
import { clusterController } from "./cluster/cluster.ts";
import type { ObserveClusters } from "./cluster/plan.ts";
import { clusterBundleController } from "./cluster-bundle/cluster-bundle.ts";
import { claimController } from "./claim/claim.ts";
import { domainController } from "./domain/domain.ts";
import { dropletController } from "./droplet/droplet.ts";
import { environmentGroupController } from "./environment-group/environment-group.ts";
import { featureFlagController } from "./feature-flag/feature-flag.ts";
import { guidControllers } from "./guid-controllers.ts";
import { orgController } from "./org/org.ts";
import { quotaController } from "./org-quota/enforce.ts";
import { orgQuotaController } from "./org-quota/org-quota.ts";
import { packageController } from "./package/package.ts";
import { policyTemplateController } from "./policy-template/policy-template.ts";
import { placementControllers } from "./placement-decision/placement-decision.ts";
import { processController } from "./process/process.ts";
import { rolloutController } from "./rollout/rollout.ts";
import { routeBindingController } from "./route-binding/route-binding.ts";
import { routeController, routeGUIDController } from "./route/route.ts";
import { routePolicyController } from "./route-policy/route-policy.ts";
import { securityGroupController } from "./security-group/security-group.ts";
import { registrySecretController, spokeRegistrySecretController } from "./shared/registry-secret.ts";
import { managedBindingController } from "./service-binding/managed.ts";
import { userProvidedBindingController } from "./service-binding/user-provided.ts";
import { serviceBindingController } from "./service-binding/service-binding.ts";
import { serviceBrokerController } from "./service-broker/service-broker.ts";
import { managedInstanceController } from "./service-instance/managed.ts";
import { sharedInstanceController } from "./service-instance/shared.ts";
import { serviceInstanceController } from "./service-instance/service-instance.ts";
import { spaceController } from "./space/space.ts";
import { isOfHub } from "./spoke/plan.ts";
import { spokeCleanUpController } from "./spoke/clean-up.ts";
import { spokeFactsController } from "./spoke/facts.ts";
import { spokeNetworkController } from "./spoke/network.ts";
import { spokeController } from "./spoke/spoke.ts";
import type { StartGate } from "./shared/start-gate.ts";
import type { HasContent } from "./shared/has-content.ts";
import { createBrokerPace } from "./shared/osb/broker-pace.ts";
import { createInstanceTurns } from "./shared/osb/instance-turns.ts";
import { taskController } from "./task/task.ts";
import { workController } from "./work/work.ts";

export interface ControllersOptions {
  /** Operator policy, which may hold starts back. */
  startGate: StartGate;
  /** Address of the CF API that apps read as `cf_api` in VCAP_APPLICATION, without a trailing slash. */
  apiURL: string;
  /** Host names of the CF API beside that of `apiURL`. */
  otherAPIHosts?: readonly string[];
  /** Whether all live replicas know a feature; all do when left out. */
  isKnownToAll?: IsKnownToAll;
  hasContent: HasContent;
  /** Undefined where there is no registry: droplets that are files then run where they are unpacked. */
  makeDropletImage?: MakeDropletImage | undefined;
  /** Undefined where there are no other clusters. */
  clusters?: ObserveClusters | undefined;
}

/** Controllers of the operation `policies`. Those of constraints follow from the templates at run time. */
export const policyControllers: readonly Controller[] = [policyTemplateController];

/** Controllers of the operation `agent`, on a cluster that runs what a hub makes there. `version`: of this Cupola. */
export function spokeControllers(version?: string): Controller[] {
  return [
    spokeController,
    spokeNetworkController,
    spokeCleanUpController(),
    spokeFactsController(version),
    spokeRegistrySecretController(isOfHub),
  ];
}

/** The controller of the hub's Works, on a cluster that the hub cannot call. */
export function pullControllers(): Controller[] {
  return [workController()];
}

const NO_OTHER_CLUSTERS: ObserveClusters = { observe: () => undefined, onChange: () => () => undefined };

export function createControllers(options: ControllersOptions): Controller[] {
  const pace = createBrokerPace();
  const brokers = { pace, turns: createInstanceTurns(), apiInfo: `${options.apiURL}/v2/info` };
  return [
    claimController(),
    orgController,
    spaceController,
    registrySecretController(),
    domainController,
    ...guidControllers,
    orgQuotaController,
    quotaController(),
    securityGroupController,
    environmentGroupController,
    featureFlagController,
    appController(options),
    appGUIDController,
    processController(options),
    adjustmentController,
    appPolicyController,
    routePolicyController,
    rolloutController,
    packageController(options.hasContent),
    buildController(options),
    dropletController(options),
    routeController(options),
    routeGUIDController,
    routeBindingController(),
    serviceBrokerController(pace),
    serviceInstanceController,
    sharedInstanceController,
    managedInstanceController(brokers),
    serviceBindingController,
    managedBindingController(brokers),
    userProvidedBindingController(),
    auditLogController,
    taskController(options),
    ...clusterControllers(options.clusters ?? NO_OTHER_CLUSTERS),
  ];
}

function clusterControllers(clusters: ObserveClusters): Controller[] {
  return [clusterController(clusters), clusterBundleController(), ...placementControllers()];
}

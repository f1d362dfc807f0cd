// Feature flags as admission policies that take the flag's object as their parameter. The API enforces flags about reading.
import type { ResourceDefinition } from "../../kube/api/resource.ts";
import { App } from "../app/app.ts";
import { Build } from "../build/build.ts";
import { Domain } from "../domain/domain.ts";
import { Droplet } from "../droplet/droplet.ts";
import { isDefaultValue } from "../field-policies.ts";
import { SYSTEM_NAMESPACE } from "../groups.ts";
import { Package } from "../package/package.ts";
import {
  CALLER_IS_ADMIN,
  CALLER_IS_PLATFORM,
  EXCEPT_KUBERNETES,
  EXCEPT_PLATFORM,
  toPolicyResource,
  type AdmissionPolicy,
} from "../admission-policy.ts";
import { Process } from "../process/process.ts";
import { Route } from "../route/route.ts";
import { ServiceBroker } from "../service-broker/service-broker.ts";
import { ServiceInstance } from "../service-instance/service-instance.ts";
import { Task } from "../task/task.ts";
import { FeatureFlag } from "./feature-flag.ts";
import { appliesToAdmins, FEATURE_DISABLED, FEATURE_FLAGS, toFlagObjectName, type FlagName } from "./flags.ts";

/** A thing that a flag switches off: writes of a kind for which `condition` (a CEL expression) is true. */
interface FlagGuard {
  flag: FlagName;
  kind: ResourceDefinition;
  subresource?: string;
  operations: AdmissionPolicy["operations"];
  condition: string;
}

const hasChanged = (field: string): string =>
  `(has(object.spec.${field}) != has(oldObject.spec.${field}) || (has(object.spec.${field}) && object.spec.${field} != oldObject.spec.${field}))`;
const isNew = "oldObject == null";
/** An app of this lifecycle is created or started. */
const startsWithLifecycle = (type: string): string =>
  `object.spec.lifecycle.type == '${type}' && (${isNew} || (object.spec.state == 'Started' && (oldObject.spec.state != 'Started' || ${hasChanged("restart")})))`;
const buildsWithLifecycle = (type: string): string =>
  `has(object.spec.lifecycle) && object.spec.lifecycle.type == '${type}'`;

const SIZE_FIELDS = ["memoryMB", "diskMB", "cpu", "logRateLimitBytesPerSecond"];
const ownerReferences = (object: string): string =>
  `(has(${object}.metadata.ownerReferences) ? ${object}.metadata.ownerReferences : [])`;
const ownersChanged = `${ownerReferences("object")} != ${ownerReferences("oldObject")}`;
const isResized = [ownersChanged, ...["instances", ...SIZE_FIELDS].map(hasChanged)].join(" || ");

/**
 * As in CF, a new app may choose its size, which is the size of its web process: the app has only one, for as long as it exists. Processes of other types
 * may belong to an existing app, so they start with the default size and no instances.
 */
const hasCustomSize = `object.spec.type != 'web' && !(${SIZE_FIELDS.map((field) => isDefaultValue(Process, field)).join(" && ")} && (!has(object.spec.instances) || object.spec.instances == 0))`;

/** Kinds that do not exist yet (service brokers) will add their own lines. */
const FLAG_GUARDS: readonly FlagGuard[] = [
  {
    flag: "app_bits_upload",
    kind: Package,
    operations: ["CREATE", "UPDATE"],
    condition: `${isNew} ? has(object.spec.content) : ${hasChanged("content")}`,
  },
  // A process must not be deleted, or left to the garbage collector, while its app exists: it could be created again with another size.
  {
    flag: "app_scaling",
    kind: Process,
    operations: ["CREATE", "UPDATE", "DELETE"],
    condition: `object == null || (${isNew} ? ${hasCustomSize} : ${isResized})`,
  },
  {
    flag: "app_scaling",
    kind: Process,
    subresource: "scale",
    operations: ["UPDATE"],
    condition: hasChanged("replicas"),
  },
  { flag: "diego_docker", kind: App, operations: ["CREATE", "UPDATE"], condition: startsWithLifecycle("docker") },
  { flag: "diego_docker", kind: Build, operations: ["CREATE"], condition: buildsWithLifecycle("docker") },
  // Otherwise "bring your own build" would bypass the flag: an image under an app that is built from source. Admission cannot verify that an image is cnb.
  { flag: "diego_docker", kind: Droplet, operations: ["CREATE"], condition: "object.spec.kind != 'host'" },
  { flag: "diego_cnb", kind: App, operations: ["CREATE", "UPDATE"], condition: startsWithLifecycle("cnb") },
  { flag: "diego_cnb", kind: Build, operations: ["CREATE"], condition: buildsWithLifecycle("cnb") },
  {
    flag: "private_domain_creation",
    kind: Domain,
    operations: ["CREATE"],
    condition: `request.namespace != '${SYSTEM_NAMESPACE}'`,
  },
  {
    flag: "hash_based_routing",
    kind: Route,
    operations: ["CREATE", "UPDATE"],
    condition: `has(object.spec.options) && has(object.spec.options.loadbalancing) && object.spec.options.loadbalancing == 'hash' && (${isNew} || ${hasChanged("options")})`,
  },
  {
    flag: "route_sharing",
    kind: Route,
    operations: ["CREATE", "UPDATE"],
    condition: `has(object.spec.sharedSpaces) && size(object.spec.sharedSpaces) > 0 && (${isNew} || ${hasChanged("sharedSpaces")})`,
  },
  { flag: "route_creation", kind: Route, operations: ["CREATE"], condition: "true" },
  {
    flag: "service_instance_sharing",
    kind: ServiceInstance,
    operations: ["CREATE", "UPDATE"],
    // As in CF, whoever shares an instance may always end that.
    condition: `has(object.spec.sharedSpaces) && object.spec.sharedSpaces.exists(space, ${isNew} || !has(oldObject.spec.sharedSpaces) || !(space in oldObject.spec.sharedSpaces))`,
  },
  {
    flag: "space_scoped_private_broker_creation",
    kind: ServiceBroker,
    operations: ["CREATE"],
    condition: `request.namespace != '${SYSTEM_NAMESPACE}'`,
  },
  { flag: "service_instance_creation", kind: ServiceInstance, operations: ["CREATE"], condition: "true" },
  { flag: "task_creation", kind: Task, operations: ["CREATE"], condition: "true" },
];

export function featureFlagPolicies(): AdmissionPolicy[] {
  return FLAG_GUARDS.map(toFlagPolicy);
}

function toFlagPolicy({ flag, kind, subresource, operations, condition }: FlagGuard): AdmissionPolicy {
  const { enabled } = FEATURE_FLAGS[flag];
  const object = toFlagObjectName(flag);
  const isOn = enabled
    ? "!has(params.spec.enabled) || params.spec.enabled"
    : "has(params.spec.enabled) && params.spec.enabled";
  const exempt = appliesToAdmins(flag) ? "" : ` || ${CALLER_IS_ADMIN} || ${CALLER_IS_PLATFORM}`;
  return {
    name: `feature-${object}.${kind.plural}${subresource ? `.${subresource}` : ""}.cupola.dev`,
    resources: [toPolicyResource(kind, subresource)],
    operations,
    // A missing object must not turn on a flag that is off by default.
    params: {
      apiVersion: `${FeatureFlag.group}/${FeatureFlag.version}`,
      kind: FeatureFlag.kind,
      name: object,
      required: !enabled,
    },
    matchConditions: [
      ...(operations.includes("DELETE") ? [EXCEPT_KUBERNETES] : []),
      ...(appliesToAdmins(flag) ? [EXCEPT_PLATFORM] : []),
      ...(condition === "true" ? [] : [{ name: "concerned", expression: condition }]),
    ],
    validations: [
      {
        expression: `(${isOn})${exempt}`,
        messageExpression: `'${FEATURE_DISABLED}' + (has(params.spec.customErrorMessage) && params.spec.customErrorMessage != '' ? params.spec.customErrorMessage : '${flag}')`,
        reason: "Forbidden",
      },
    ],
  };
}

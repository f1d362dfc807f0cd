// What feature flags forbid, as admission policies that read the flag's object as their parameter. Flags about reading are the API's to hold.
import type { ResourceDefinition } from "../../kube/api/resource.ts";
import { App } from "../app/app.ts";
import { Build } from "../build/build.ts";
import { Domain } from "../domain/domain.ts";
import { Droplet } from "../droplet/droplet.ts";
import { isDefault } from "../field-policies.ts";
import { SYSTEM_NAMESPACE } from "../groups.ts";
import { Package } from "../package/package.ts";
import { IS_ADMIN, IS_PLATFORM, NOT_THE_CLUSTER, NOT_THE_PLATFORM, resourceOf, type Policy } from "../admission-policy.ts";
import { Process } from "../process/process.ts";
import { Route } from "../route/route.ts";
import { FeatureFlag } from "./feature-flag.ts";
import { bindsAdmins, FEATURE_DISABLED, FLAGS, flagObjectName, type FlagName } from "./flags.ts";

/** One thing that a flag switches off: writes of a kind for which `when` (an expression) holds. */
interface Guard {
  flag: FlagName;
  on: ResourceDefinition;
  subresource?: string;
  operations: Policy["operations"];
  when: string;
}

const changed = (field: string): string => `(has(object.spec.${field}) != has(oldObject.spec.${field}) || (has(object.spec.${field}) && object.spec.${field} != oldObject.spec.${field}))`;
const isNew = "oldObject == null";
/** An app of this lifecycle is made, or started. */
const runsAs = (type: string): string =>
  `object.spec.lifecycle.type == '${type}' && (${isNew} || (object.spec.state == 'Started' && (oldObject.spec.state != 'Started' || ${changed("restart")})))`;
const buildsAs = (type: string): string => `has(object.spec.lifecycle) && object.spec.lifecycle.type == '${type}'`;

const SIZES = ["memoryMB", "diskMB", "cpu", "logRateLimitBytesPerSecond"];
const ownersOf = (object: string): string => `(has(${object}.metadata.ownerReferences) ? ${object}.metadata.ownerReferences : [])`;
const ownersChanged = `${ownersOf("object")} != ${ownersOf("oldObject")}`;
const isResized = [ownersChanged, ...["instances", ...SIZES].map(changed)].join(" || ");

/**
 * A new app has the size it likes, as in CF, which is that of its web process: there is one of that name, and it stays as long as the app. What else is made may be
 * made for an app that is there, so it has the size that everything has, and no instances.
 */
const isSized = `object.spec.type != 'web' && !(${SIZES.map((field) => isDefault(Process, field)).join(" && ")} && (!has(object.spec.instances) || object.spec.instances == 0))`;

/** Kinds that are not there yet (tasks, service instances, brokers) bring their own lines. */
const GUARDS: readonly Guard[] = [
  { flag: "app_bits_upload", on: Package, operations: ["CREATE", "UPDATE"], when: `${isNew} ? has(object.spec.content) : ${changed("content")}` },
  // Nor may a process be taken away, or be left to the garbage collector, while its app stays: it would be made anew, of another size.
  { flag: "app_scaling", on: Process, operations: ["CREATE", "UPDATE", "DELETE"], when: `object == null || (${isNew} ? ${isSized} : ${isResized})` },
  { flag: "app_scaling", on: Process, subresource: "scale", operations: ["UPDATE"], when: changed("replicas") },
  { flag: "diego_docker", on: App, operations: ["CREATE", "UPDATE"], when: runsAs("docker") },
  { flag: "diego_docker", on: Build, operations: ["CREATE"], when: buildsAs("docker") },
  // Without it "bring your own build" would be a way round: an image under an app that is built from source. Whether cnb is true of an image nobody can see here.
  { flag: "diego_docker", on: Droplet, operations: ["CREATE"], when: "object.spec.kind != 'host'" },
  { flag: "diego_cnb", on: App, operations: ["CREATE", "UPDATE"], when: runsAs("cnb") },
  { flag: "diego_cnb", on: Build, operations: ["CREATE"], when: buildsAs("cnb") },
  { flag: "private_domain_creation", on: Domain, operations: ["CREATE"], when: `request.namespace != '${SYSTEM_NAMESPACE}'` },
  { flag: "route_creation", on: Route, operations: ["CREATE"], when: "true" },
];

export function featureFlagPolicies(): Policy[] {
  return GUARDS.map(toPolicy);
}

function toPolicy({ flag, on, subresource, operations, when }: Guard): Policy {
  const { enabled } = FLAGS[flag];
  const object = flagObjectName(flag);
  const isOn = enabled ? "!has(params.spec.enabled) || params.spec.enabled" : "has(params.spec.enabled) && params.spec.enabled";
  const exempt = bindsAdmins(flag) ? "" : ` || ${IS_ADMIN} || ${IS_PLATFORM}`;
  return {
    name: `feature-${object}.${on.plural}${subresource ? `.${subresource}` : ""}.cupola.dev`,
    resources: [resourceOf(on, subresource)],
    operations,
    // A flag that is off by default must not be on for want of its object.
    params: { apiVersion: `${FeatureFlag.group}/${FeatureFlag.version}`, kind: FeatureFlag.kind, name: object, required: !enabled },
    matchConditions: [...(operations.includes("DELETE") ? [NOT_THE_CLUSTER] : []), ...(bindsAdmins(flag) ? [NOT_THE_PLATFORM] : []), ...(when === "true" ? [] : [{ name: "concerned", expression: when }])],
    validations: [
      {
        expression: `(${isOn})${exempt}`,
        messageExpression: `'${FEATURE_DISABLED}' + (has(params.spec.customErrorMessage) && params.spec.customErrorMessage != '' ? params.spec.customErrorMessage : '${flag}')`,
        reason: "Forbidden",
      },
    ],
  };
}


// The ServiceInstance kind: something that apps use and the platform does not run, such as a database, with the credentials to reach it.
import { z } from "zod";
import {
  immutable,
  listAtomic,
  listSet,
  readyStatus,
  withRules,
  type CelRule,
  type Resource,
} from "../../kube/api/resource.ts";
import { displayName, objectName, refTo } from "../schema-fields.ts";
import { CATEGORY, GROUP } from "../groups.ts";
import { lastOperation, namespaceName, pendingOperation, providedBy, refAnywhere } from "./managed-fields.ts";
import { defineKind, READ, WRITE } from "../kind.ts";
import { SPACE_READERS, SPACE_DEVELOPER } from "../roles.ts";

/** Spaces beside its own that an instance may be shared with. */
export const MAX_SHARED_SPACES = 100;

// The API server checks the default of an empty spec before it has the default of the type.
const IS_MANAGED = "(has(self.type) && self.type == 'managed')";

const onlyWhen = (isType: string, type: string, ...fields: readonly string[]): CelRule[] =>
  fields.map((field) => ({
    rule: `!has(self.${field}) || ${isType}`,
    message: `${field} is for type ${type} only`,
    fieldPath: `.${field}`,
  }));

/** Length of the text that names an update. */
export const MAX_REFUSED_UPDATE = 2048;

const spec = immutable(
  z.object({
    name: displayName,
    type: z
      .enum(["user-provided", "managed"])
      .default("user-provided")
      .describe("user-provided: people give its credentials. managed: a service broker makes it."),
    tags: listAtomic(z.array(z.string().max(2048)).max(100))
      .default([])
      .describe("Words by which apps find it in VCAP_SERVICES."),
    credentialsSecretRef: refTo("Secret")
      .optional()
      .describe(
        "The Secret with its credentials: a key credentials with a JSON object, or one key for each credential. It must be labelled cupola.dev/env=allowed, unless the API wrote it.",
      ),
    syslogDrainURL: z.string().max(2048).optional().describe("Where logs of bound apps are to go. Kept and shown."),
    routeServiceURL: z
      .string()
      .max(2048)
      .optional()
      .describe("Where requests of bound routes are to go first. Kept and shown."),
    planRef: refAnywhere("ServicePlan")
      .optional()
      .describe("The plan of a managed one. Another plan of the same offering is an update."),
    parametersSecretRef: refTo("Secret")
      .optional()
      .describe(
        "The Secret whose key parameters has a JSON object for the broker. Another Secret is an update. It must be labelled cupola.dev/env=allowed, unless the API wrote it.",
      ),
    maintenanceVersion: z
      .string()
      .max(255)
      .optional()
      .describe("The version of the plan's maintenanceInfo to run. A new one is an upgrade."),
    sharedSpaces: listSet(z.array(namespaceName).max(MAX_SHARED_SPACES))
      .optional()
      .describe("Namespaces of other spaces whose apps may be bound to it."),
    purge: z
      .boolean()
      .optional()
      .describe("Whether to forget it, with its bindings, without a word to the broker when it is deleted."),
  }),
  "type",
);

/** The broker that made the instance is of its own space, so its developers may forget the instance, as in CF. */
const IS_OF_OWN_BROKER =
  "oldObject != null && has(oldObject.status) && has(oldObject.status.provided) && has(oldObject.status.provided.brokerRef.namespace) && oldObject.status.provided.brokerRef.namespace == request.namespace";

export const ServiceInstance = defineKind({
  group: GROUP,
  kind: "ServiceInstance",
  plural: "serviceinstances",
  namespaced: true,
  livesIn: ["space"],
  permissions: [
    { verbs: READ, roles: SPACE_READERS },
    { verbs: WRITE, roles: [SPACE_DEVELOPER] },
    { subresource: "credentials", verbs: ["get"], roles: [SPACE_DEVELOPER] },
  ],
  fieldPermissions: [
    // A purged instance goes on at its broker and may cost, so purging is an admin's, as in CF.
    { subresource: "purge", fields: ["purge"], unless: IS_OF_OWN_BROKER },
  ],
  shortNames: ["cfservice"],
  categories: [CATEGORY],
  description:
    "Something that apps use and the platform does not run, such as a database. A ServiceBinding gives its credentials to an app.",
  columns: [
    { name: "CF-Name", jsonPath: ".spec.name" },
    { name: "Type", jsonPath: ".spec.type" },
    { name: "Plan", jsonPath: ".spec.planRef.name" },
    { name: "Operation", jsonPath: ".status.lastOperation.type" },
    { name: "State", jsonPath: ".status.lastOperation.state" },
  ],
  spec: withRules(spec, [
    {
      rule: `${IS_MANAGED} == has(self.planRef)`,
      message: "type managed needs a planRef, and no other has one",
    },
    ...onlyWhen(`!${IS_MANAGED}`, "user-provided", "credentialsSecretRef", "syslogDrainURL", "routeServiceURL"),
    ...onlyWhen(IS_MANAGED, "managed", "parametersSecretRef", "maintenanceVersion", "sharedSpaces"),
  ]),
  status: readyStatus({
    lastOperation: lastOperation.optional(),
    operation: pendingOperation.optional(),
    provided: providedBy.optional(),
    refusedUpdate: z
      .string()
      .max(MAX_REFUSED_UPDATE)
      .optional()
      .describe("The update that failed last, which is not tried again until something else is wanted."),
    toldParameters: z
      .object({ name: objectName.describe("Name of the Secret.") })
      .optional()
      .describe("The Secret with the parameters that its broker told after the latest operation."),
    dashboardURL: z.string().max(2048).optional().describe("Where a person manages it."),
  }),
});
export type ServiceInstance = Resource<typeof ServiceInstance>;

/** Fields of an instance's spec once it is no longer shared with a space; undefined when it is not shared with it. */
export function withoutSpace(
  { spec: { sharedSpaces = [] } }: Pick<ServiceInstance, "spec">,
  namespace: string,
): Partial<ServiceInstance["spec"]> | undefined {
  if (!sharedSpaces.includes(namespace)) return undefined;
  return { sharedSpaces: sharedSpaces.filter((one) => one !== namespace) };
}

/** Is it in this namespace, or shared with the space that has it? */
export function isWithin({ metadata, spec }: Pick<ServiceInstance, "metadata" | "spec">, namespace = ""): boolean {
  return metadata.namespace === namespace || (spec.sharedSpaces ?? []).includes(namespace);
}

// The ServiceBinding kind: gives the credentials of a ServiceInstance to an app, from the app's next start on, or to people, as a key; or sends a route's requests to its service.
import { z } from "zod";
import { cfName } from "../cf-name.ts";
import { immutable, readyStatus, withRules, type Resource } from "../../kube/api/resource.ts";
import { objectName, refTo } from "../schema-fields.ts";
import { CATEGORY, GROUP } from "../groups.ts";
import { lastOperation, pendingOperation, providedBy, refAnywhere } from "../service-instance/managed-fields.ts";
import { defineKind, READ, WRITE } from "../kind.ts";
import { SPACE_READERS, APP_OPERATORS, SPACE_DEVELOPER } from "../roles.ts";

const spec = immutable(
  z.object({
    name: cfName
      .optional()
      .describe("The name under which the app finds it, which defaults to the instance's; the name of a key."),
    type: z
      .enum(["app", "key", "route"])
      .default("app")
      .describe(
        "app: for an app. key: for people, which only managed instances have. route: for a route, whose requests the service sees first.",
      ),
    appRef: refTo("App").optional().describe("The App, by name, in this namespace. Only with type app."),
    routeRef: refTo("Route").optional().describe("The Route, by name, in this namespace. Only with type route."),
    instanceRef: refAnywhere("ServiceInstance").describe(
      "The ServiceInstance, by name, in this namespace or in that of a space which shares it with this one.",
    ),
    predecessorRef: refTo("ServiceBinding")
      .optional()
      .describe(
        "The binding of the same instance which this one is to replace, where the plan has rotatable bindings: its broker takes the parameters over.",
      ),
    parametersSecretRef: refTo("Secret")
      .optional()
      .describe(
        "The Secret whose key parameters has a JSON object for the broker. It must be labelled cupola.dev/env=allowed, unless the API wrote it.",
      ),
  }),
  "name",
  "type",
  "appRef",
  "routeRef",
  "instanceRef",
  "predecessorRef",
  "parametersSecretRef",
);

const time = z.string().max(64).meta({ format: "date-time" });

/** Characters of a drain's host and port. */
export const MAX_DRAIN_ADDRESS = 300;

export const ServiceBinding = defineKind({
  group: GROUP,
  kind: "ServiceBinding",
  plural: "servicebindings",
  namespaced: true,
  livesIn: ["space"],
  deletedWithSpace: "first",
  permissions: [
    { verbs: READ, roles: SPACE_READERS },
    // A supporter binds and unbinds, but does not label bindings.
    { verbs: WRITE, roles: APP_OPERATORS },
    { subresource: "credentials", verbs: ["get"], roles: [SPACE_DEVELOPER] },
    { subresource: "settings", verbs: ["update"], roles: [SPACE_DEVELOPER] },
  ],
  fieldPermissions: [{ subresource: "settings", fields: [], metadata: true }],
  shortNames: ["cfbinding"],
  categories: [CATEGORY],
  description:
    "Gives the credentials of a ServiceInstance to an app, in VCAP_SERVICES, from the app's next start or restart on; or to people, as a key; or sends the requests of a route to its service first.",
  columns: [
    { name: "Type", jsonPath: ".spec.type" },
    { name: "App", jsonPath: ".spec.appRef.name" },
    { name: "Route", jsonPath: ".spec.routeRef.name" },
    { name: "Instance", jsonPath: ".spec.instanceRef.name" },
    { name: "CF-Name", jsonPath: ".spec.name" },
    { name: "State", jsonPath: ".status.lastOperation.state" },
  ],
  spec: withRules(spec, [
    { rule: "(self.type == 'app') == has(self.appRef)", message: "type app needs an appRef, and others have none" },
    {
      rule: "(self.type == 'route') == has(self.routeRef)",
      message: "type route needs a routeRef, and others have none",
    },
    { rule: "self.type != 'key' || has(self.name)", message: "a key needs a name" },
    {
      rule: "!has(self.predecessorRef) || !has(self.parametersSecretRef)",
      message: "a successor has the parameters of its predecessor",
      fieldPath: ".predecessorRef",
    },
  ]),
  status: readyStatus({
    lastOperation: lastOperation.optional(),
    operation: pendingOperation.optional(),
    provided: providedBy.optional(),
    instanceGUID: z.string().max(253).optional().describe("GUID of the instance for which the broker was asked."),
    routeServiceURL: z
      .string()
      .max(2048)
      .optional()
      .describe("The address to which requests of the route go first. Only with type route."),
    syslogDrainAddress: z
      .string()
      .max(MAX_DRAIN_ADDRESS)
      .optional()
      .describe(
        "Host and port of the log drain that the broker gave. Another one in the Secret is not trusted as the broker is.",
      ),
    expiresAt: time.optional().describe("When the broker says that the credentials end."),
    renewBefore: time.optional().describe("When the broker says that they should have been replaced."),
    binding: z
      .object({ name: objectName.describe("Name of the Secret.") })
      .optional()
      .describe("The Secret with the credentials, as servicebinding.io has it."),
  }),
});
export type ServiceBinding = Resource<typeof ServiceBinding>;

/** Namespace of the bound instance. */
export function instanceNamespaceOf({
  metadata,
  spec: { instanceRef },
}: Pick<ServiceBinding, "metadata" | "spec">): string {
  return instanceRef.namespace ?? metadata.namespace ?? "";
}

// The App kind: the desired state that users write. Processes, Revisions and LRPs follow from it.
import { z } from "zod";
import { immutable, listMap, readyStatus, withRules, type Resource } from "../../kube/api/resource.ts";
import { className, displayName, envVars, lifecycleType, refTo } from "../schema-fields.ts";
import { CATEGORY, GROUP } from "../groups.ts";
import { MAX_SIDECARS, sidecar } from "../sidecar.ts";
import { defineKind, READ, WRITE } from "../kind.ts";
import { shownViolations } from "../policy-template/shown-violation.ts";
import { SPACE_READERS, APP_OPERATORS, SPACE_DEVELOPER, SPACE_SUPPORTER } from "../roles.ts";

const lifecycle = z
  .object({
    type: lifecycleType
      .default("buildpack")
      .describe("buildpack: built from source. cnb: built by the listed Cloud Native Buildpacks. docker: an image."),
    buildpacks: z
      .array(z.string().min(1).max(1024))
      .max(50)
      .default([])
      .meta({ "x-kubernetes-list-type": "atomic" })
      .describe("Names of buildpacks, in order. Empty: detected."),
    stack: z.string().max(255).optional().describe("The stack to build on. Defaults to the platform's default stack."),
  })
  .describe("How the app is built.");

const userSidecar = sidecar.extend({
  guid: z.string().max(63).optional().describe("The GUID that cf shows. Defaults to one derived from app and name."),
});

export const App = defineKind({
  group: GROUP,
  kind: "App",
  plural: "apps",
  namespaced: true,
  livesIn: ["space"],
  deletedWithSpace: "early",
  permissions: [
    { verbs: READ, roles: SPACE_READERS },
    { verbs: WRITE, roles: [SPACE_DEVELOPER] },
    { verbs: ["update", "patch"], roles: [SPACE_SUPPORTER] },
    { subresource: "env", verbs: ["get", "update"], roles: APP_OPERATORS },
    { subresource: "state", verbs: ["update"], roles: APP_OPERATORS },
    { subresource: "droplet", verbs: ["update"], roles: APP_OPERATORS },
    { subresource: "content", verbs: ["update"], roles: [SPACE_DEVELOPER] },
    { subresource: "settings", verbs: ["update"], roles: [SPACE_DEVELOPER] },
    { subresource: "secrets", verbs: ["get"], roles: [SPACE_DEVELOPER] },
    { subresource: "logs", verbs: ["get"], roles: SPACE_READERS },
    { subresource: "ssh", verbs: ["create"], roles: [SPACE_DEVELOPER] },
  ],
  fieldPermissions: [
    { subresource: "env", fields: ["env"] },
    { subresource: "state", fields: ["state", "restart"] },
    { subresource: "droplet", fields: ["droplet"] },
    { subresource: "content", fields: ["lifecycle", "builder", "sidecars"] },
    { subresource: "settings", fields: ["name", "features.ssh"], metadata: true },
  ],
  audit: { outsideWrites: "changes and deletions" },
  deletionJob: "app.delete",
  shortNames: ["cfapp"],
  categories: [CATEGORY],
  description:
    "An application: its source or image, its environment, and whether it should run. Its Processes set the number and size of instances.",
  columns: [
    { name: "CF-Name", jsonPath: ".status.name" },
    { name: "State", jsonPath: ".spec.state" },
    { name: "Droplet", jsonPath: ".spec.droplet.name", wide: true },
    { name: "Revision", jsonPath: ".status.revision" },
  ],
  rules: [
    {
      rule: "self.metadata.name.size() <= 40 && !self.metadata.name.contains('.')",
      message: "the name of an App has at most 40 characters and no dot",
    },
  ],
  spec: z.object({
    name: displayName,
    state: z.enum(["Started", "Stopped"]).default("Stopped").describe("Whether the app should run."),
    restart: z
      .string()
      .max(63)
      .optional()
      .describe("A new value restarts the app with its current droplet, environment and sizes."),
    droplet: refTo("Droplet").optional().describe("The droplet to run. Takes effect at the next start or restart."),
    lifecycle: immutable(lifecycle, "type").default({ type: "buildpack", buildpacks: [] }),
    buildCache: z
      .string()
      .max(63)
      .optional()
      .describe("A new value makes the next build start without what earlier builds kept."),
    builder: className.optional().describe("The BackendClass that builds the app. Defaults to the default builder."),
    env: envVars
      .default([])
      .describe(
        "Environment variables of the app. cf set-env stores values in the Secret <app>-env. PORT and names that start with VCAP_ are reserved.",
      ),
    sidecars: listMap(z.array(userSidecar).max(MAX_SIDECARS), ["name"])
      .optional()
      .describe("Programs that run beside the app's processes."),
    features: withRules(
      z.object({
        ssh: z.boolean().default(true).describe("Whether cf ssh may open a shell in an instance."),
        revisions: z.boolean().default(true).describe("Whether cf shows the app's revisions."),
        serviceBindingK8s: z
          .boolean()
          .optional()
          .describe("Whether bound services are folders of files below SERVICE_BINDING_ROOT, without VCAP_SERVICES."),
        fileBasedVcapServices: z
          .boolean()
          .optional()
          .describe("Whether VCAP_SERVICES is a file that VCAP_SERVICES_FILE_PATH names."),
      }),
      [
        {
          rule: "!(has(self.serviceBindingK8s) && self.serviceBindingK8s && has(self.fileBasedVcapServices) && self.fileBasedVcapServices)",
          message: "serviceBindingK8s and fileBasedVcapServices exclude each other",
        },
      ],
    )
      .optional()
      .describe("Features of the app that can be switched."),
  }),
  status: readyStatus({
    name: z.string().max(255).optional().describe("The CF name that this object holds."),
    observedRestart: z
      .string()
      .max(63)
      .optional()
      .describe("The value of spec.restart when the current revision was made."),
    revision: z.string().max(253).optional().describe("The current Revision."),
    url: z.string().max(2048).optional().describe("URL of the app's first route."),
    policyViolations: shownViolations.describe(
      "Rules of operator policy that the app, or an object that belongs to it, breaks now.",
    ),
  }),
});
export type App = Resource<typeof App>;

// What an App is: the desired state that a person writes. What runs follows from it: Process, Revision, LRP.
import { z } from "zod";
import { defineResource, immutable, listSet, listMap, readyStatus, type Resource } from "../../kube/api/resource.ts";
import { className, displayName, envVars, lifecycleType, memoryMB, refTo } from "../schema-fields.ts";
import { CATEGORY, GROUP } from "../groups.ts";

const lifecycle = z
  .object({
    type: lifecycleType
      .default("buildpack")
      .describe("buildpack: built from source. cnb: built by the given Cloud Native Buildpacks. docker: an image."),
    buildpacks: z
      .array(z.string().min(1).max(1024))
      .max(50)
      .default([])
      .meta({ "x-kubernetes-list-type": "atomic" })
      .describe("Buildpacks by name, in order; detected when empty."),
    stack: z.string().max(255).optional().describe("The stack to build on; the platform's default when left out."),
  })
  .describe("How the app is built.");

const sidecar = z.object({
  name: z.string().min(1).max(255).describe("Name of the sidecar."),
  command: z.string().min(1).max(4096).describe("What it runs."),
  processTypes: listSet(z.array(z.string().min(1).max(255)).min(1).max(50)).describe(
    "Types of the processes that it runs beside.",
  ),
  memoryMB: memoryMB.optional().describe("Its part of the process's memory, in MB."),
});

export const App = defineResource({
  group: GROUP,
  kind: "App",
  plural: "apps",
  namespaced: true,
  shortNames: ["cfapp"],
  categories: [CATEGORY],
  description:
    "An application: source or an image, environment, and whether it should run. Its processes say how many instances of what size.",
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
      .describe("Any new value restarts the app with its current droplet, environment and sizes."),
    droplet: refTo("Droplet").optional().describe("What runs. Takes effect at the next start or restart."),
    lifecycle: immutable(lifecycle, "type").default({ type: "buildpack", buildpacks: [] }),
    builder: className.optional().describe("The BackendClass that builds; the default builder when left out."),
    env: envVars
      .default([])
      .describe(
        "The app's environment variables. cf set-env keeps values in the Secret <app>-env; names starting VCAP_ and PORT are the platform's.",
      ),
    sidecars: listMap(z.array(sidecar).max(20), ["name"])
      .optional()
      .describe("Programs that run beside the processes named."),
    features: z
      .object({
        ssh: z.boolean().default(true).describe("Instances may be entered by ssh."),
        revisions: z.boolean().default(true).describe("cf shows the app's revisions."),
      })
      .optional()
      .describe("What the app allows."),
  }),
  status: readyStatus({
    name: z.string().max(255).optional().describe("The name in force."),
    observedRestart: z
      .string()
      .max(63)
      .optional()
      .describe("The value of spec.restart that the current revision answers."),
    revision: z.string().max(253).optional().describe("The Revision in force."),
    url: z.string().max(2048).optional().describe("The first route of the app."),
  }),
});
export type App = Resource<typeof App>;

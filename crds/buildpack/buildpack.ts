// What a Buildpack is: a name and order for something that builders know how to use.
import { z } from "zod";
import { defineResource, readyStatus, type Resource } from "../../kube/api/resource.ts";
import { cfName } from "../cf-name.ts";
import { CATEGORY, GROUP } from "../groups.ts";

export const Buildpack = defineResource({
  group: GROUP,
  kind: "Buildpack",
  plural: "buildpacks",
  namespaced: true,
  shortNames: ["cfbuildpack"],
  categories: [CATEGORY],
  description: "A buildpack that apps may be built with. Detection tries the enabled ones by position.",
  columns: [
    { name: "CF-Name", jsonPath: ".spec.name" },
    { name: "Position", jsonPath: ".spec.position", type: "integer" },
    { name: "Enabled", jsonPath: ".spec.enabled", type: "boolean" },
    { name: "Version", jsonPath: ".status.version" },
  ],
  spec: z.object({
    name: cfName.describe("The name that cf shows and apps ask for."),
    position: z.int().min(1).max(10000).default(1).describe("Order of detection, first to last."),
    enabled: z.boolean().default(true).describe("Whether detection tries it."),
    locked: z.boolean().default(false).describe("Whether cf refuses to replace it."),
    stack: z.string().max(255).optional().describe("The stack that it builds for; any when left out."),
    lifecycle: z.enum(["buildpack", "cnb"]).default("buildpack").describe("The lifecycle whose apps may use it."),
    path: z
      .string()
      .max(1024)
      .optional()
      .describe(
        "For the host builder: the absolute path of a Cloud Native Buildpack's folder, or one of its own by name (nodejs, staticfile, procfile).",
      ),
  }),
  status: readyStatus({
    version: z.string().max(255).optional().describe("Its version."),
    id: z.string().max(255).optional().describe("Its id, as its buildpack.toml says."),
  }),
});
export type Buildpack = Resource<typeof Buildpack>;

// What a Stack is: the base that apps are built and run on.
import { z } from "zod";
import { defineResource, readyStatus, type Resource } from "../../kube/api/resource.ts";
import { cfName } from "../cf-name.ts";
import { CATEGORY, GROUP } from "../groups.ts";

export const Stack = defineResource({
  group: GROUP,
  kind: "Stack",
  plural: "stacks",
  namespaced: true,
  shortNames: ["cfstack"],
  categories: [CATEGORY],
  description: "The operating system base that apps are built and run on.",
  columns: [
    { name: "CF-Name", jsonPath: ".spec.name" },
    { name: "Default", jsonPath: ".spec.default", type: "boolean" },
  ],
  spec: z.object({
    name: cfName.describe("The name that cf shows."),
    description: z.string().max(1024).default("").describe("What it is, as cf shows it."),
    default: z.boolean().default(false).describe("Used by apps that name none."),
    buildImage: z.string().max(1024).optional().describe("The image that apps are built in."),
    runImage: z.string().max(1024).optional().describe("The image that apps run on."),
  }),
  status: readyStatus({}),
});
export type Stack = Resource<typeof Stack>;

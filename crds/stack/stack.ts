// The Stack kind: the operating system base that apps are built and run on.
import { z } from "zod";
import { readyStatus, type Resource } from "../../kube/api/resource.ts";
import { cfName } from "../cf-name.ts";
import { CATEGORY, GROUP } from "../groups.ts";
import { defineKind, READ } from "../kind.ts";
import { GLOBAL_AUDITOR_CLUSTER_ROLE, SYSTEM_READER } from "../roles.ts";

/** Length of the reason of a stack's state. */
export const MAX_STATE_REASON = 5000;

export const Stack = defineKind({
  group: GROUP,
  kind: "Stack",
  plural: "stacks",
  namespaced: true,
  livesIn: ["system"],
  permissions: [{ verbs: READ, roles: [SYSTEM_READER, GLOBAL_AUDITOR_CLUSTER_ROLE] }],
  audit: { lifecycle: { noun: "stack", deletion: "delete" }, outsideWrites: "changes and deletions" },
  shortNames: ["cfstack"],
  categories: [CATEGORY],
  description: "The operating system base that apps are built and run on.",
  columns: [
    { name: "CF-Name", jsonPath: ".spec.name" },
    { name: "Default", jsonPath: ".spec.default", type: "boolean" },
    { name: "State", jsonPath: ".spec.state" },
  ],
  spec: z.object({
    name: cfName.describe("The name that cf shows."),
    description: z.string().max(1024).default("").describe("Description that cf shows."),
    state: z
      .enum(["Active", "Restricted", "Deprecated", "Disabled"])
      .optional()
      .describe(
        "Active, as without it: for every app. Deprecated: the same, with a warning. Restricted: only apps that were built before. Disabled: nothing is built on it. Running apps go on.",
      ),
    stateReason: z
      .string()
      .max(MAX_STATE_REASON)
      .optional()
      .describe("Why, and what to do: cf shows it with the state."),
    default: z.boolean().default(false).describe("Whether apps that name no stack use this one."),
    substitute: cfName
      .optional()
      .describe(
        "Name of the stack that apps of this one are built and run on: for stacks that manifests from other platforms name, such as cflinuxfs4. cf warns of it.",
      ),
    buildImage: z.string().max(1024).optional().describe("Image that apps are built in."),
    runImage: z.string().max(1024).optional().describe("Image that apps run on."),
  }),
  status: readyStatus({}),
});
export type Stack = Resource<typeof Stack>;

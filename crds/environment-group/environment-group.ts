// The EnvironmentGroup kind: variables of every app while it runs or is staged. Read from the system namespace, by the names running and staging.
import { z } from "zod";
import { readyStatus, type Resource } from "../../kube/api/resource.ts";
import { CATEGORY, GROUP } from "../groups.ts";
import { defineKind, READ } from "../kind.ts";
import { GLOBAL_AUDITOR_CLUSTER_ROLE, SYSTEM_READER } from "../roles.ts";

/** CF's groups, which are the object names. */
export const ENVIRONMENT_GROUPS = ["running", "staging"] as const;
export type EnvironmentGroupName = (typeof ENVIRONMENT_GROUPS)[number];

export const EnvironmentGroup = defineKind({
  group: GROUP,
  kind: "EnvironmentGroup",
  plural: "environmentgroups",
  namespaced: true,
  permissions: [{ verbs: READ, roles: [SYSTEM_READER, GLOBAL_AUDITOR_CLUSTER_ROLE] }],
  shortNames: ["cfenvgroup"],
  categories: [CATEGORY],
  description:
    "Environment variables of all apps: of every start (object running) or of every build (object staging), in the system namespace. Every user may read them, as in CF, so they are no place for secrets.",
  rules: [
    {
      rule: "self.metadata.name in ['running', 'staging']",
      message: "an EnvironmentGroup is named running or staging",
    },
  ],
  spec: z.object({
    variables: z
      .record(z.string().max(255), z.string().max(65536))
      .meta({ maxProperties: 1000 })
      .default({})
      .describe(
        "Names and values. A variable of the app wins. PORT and names that start with VCAP_ or VMC are ignored. Takes effect at an app's next start or build.",
      ),
  }),
  status: readyStatus({}),
});
export type EnvironmentGroup = Resource<typeof EnvironmentGroup>;

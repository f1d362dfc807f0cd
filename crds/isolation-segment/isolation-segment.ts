// The IsolationSegment kind: a name for a place where apps run. Orgs are entitled to segments; spaces are assigned one.
import { z } from "zod";
import { readyStatus, type Resource } from "../../kube/api/resource.ts";
import { displayName } from "../schema-fields.ts";
import { CATEGORY, GROUP } from "../groups.ts";
import { defineKind, READ } from "../kind.ts";
import { GLOBAL_AUDITOR_CLUSTER_ROLE, SYSTEM_READER } from "../roles.ts";

export const IsolationSegment = defineKind({
  group: GROUP,
  kind: "IsolationSegment",
  plural: "isolationsegments",
  namespaced: true,
  permissions: [{ verbs: READ, roles: [SYSTEM_READER, GLOBAL_AUDITOR_CLUSTER_ROLE] }],
  shortNames: ["cfisoseg"],
  categories: [CATEGORY],
  description:
    "A name for a place where apps run, in the system namespace. Org.spec.isolationSegments entitles an org; Org.spec.defaultIsolationSegment and Space.spec.isolationSegment choose one. On a single cluster all segments are the same place.",
  columns: [{ name: "CF-Name", jsonPath: ".spec.name" }],
  spec: z.object({ name: displayName }),
  status: readyStatus({}),
});
export type IsolationSegment = Resource<typeof IsolationSegment>;

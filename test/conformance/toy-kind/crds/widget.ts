// The toy kind as a contributor writes it in crds/<kind>/: its schema, and the facts that the platform's tables follow from.
import { z } from "zod";
import { readyStatus, type Resource } from "../../../../kube/api/resource.ts";
import { cfName } from "../../../../crds/cf-name.ts";
import { CATEGORY, GROUP } from "../../../../crds/groups.ts";
import { defineKind, READ, WRITE } from "../../../../crds/kind.ts";
import { SPACE_DEVELOPER, SPACE_READERS } from "../../../../crds/roles.ts";

export const Widget = defineKind({
  group: GROUP,
  kind: "Widget",
  plural: "widgets",
  namespaced: true,
  livesIn: ["space"],
  permissions: [
    { verbs: READ, roles: SPACE_READERS },
    { verbs: WRITE, roles: [SPACE_DEVELOPER] },
  ],
  audit: { lifecycle: { noun: "widget", deletion: "delete" }, outsideWrites: "changes" },
  deletionJob: "widget.delete",
  shortNames: ["cfwidget"],
  categories: [CATEGORY],
  description: "A thing with a size.",
  columns: [{ name: "Size", jsonPath: ".spec.size", type: "integer" }],
  spec: z.object({
    name: cfName.describe("The name that cf shows."),
    size: z.int().min(1).max(100).default(1).describe("Size, in units."),
  }),
  status: readyStatus({ doubled: z.int().optional().describe("Twice the size.") }),
});
export type Widget = Resource<typeof Widget>;

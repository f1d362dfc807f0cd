// The Adjustment kind: a person's patch on the pods that a runner makes for a process. It acts at the process's next start.
import { z } from "zod";
import { immutable, listMap, readyStatus, type Resource } from "../../kube/api/resource.ts";
import { CATEGORY, GROUP } from "../groups.ts";
import { defineKind, READ, WRITE } from "../kind.ts";
import { SPACE_READERS, SPACE_TWEAK } from "../roles.ts";
import { refTo } from "../schema-fields.ts";
import { MAX_REFUSALS } from "./judge.ts";

/** Any JSON object: judge.ts says what it may hold. */
const anyObject = z.unknown().meta({ type: "object", "x-kubernetes-preserve-unknown-fields": true });

export const Adjustment = defineKind({
  group: GROUP,
  kind: "Adjustment",
  plural: "adjustments",
  namespaced: true,
  livesIn: ["space"],
  permissions: [
    { verbs: READ, roles: [...SPACE_READERS, SPACE_TWEAK] },
    { verbs: WRITE, roles: [SPACE_TWEAK] },
  ],
  isReadByAPI: false,
  shortNames: ["cfadjustment"],
  categories: [CATEGORY],
  description:
    "A patch on the pods of a process, such as tolerations, a node selector or annotations. It acts at the process's next start. The operator chooses the fields that may be adjusted.",
  columns: [{ name: "Process", jsonPath: ".spec.processRef.name" }],
  spec: immutable(
    z.object({
      processRef: refTo("Process"),
      patch: anyObject.describe(
        "Fields of a pod template: metadata and spec. Maps are merged, containers by name; tolerations and hostAliases are added; other fields are replaced.",
      ),
    }),
    "processRef",
  ),
  status: readyStatus({
    refused: listMap(
      z
        .array(
          z.object({
            path: z.string().max(512).describe("Path of the field in the patch."),
            message: z.string().max(1024).describe("Why it is left out."),
          }),
        )
        .max(MAX_REFUSALS),
      ["path"],
    )
      .optional()
      .describe("Fields of the patch that are left out."),
  }),
});
export type Adjustment = Resource<typeof Adjustment>;

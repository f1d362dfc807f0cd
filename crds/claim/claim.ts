// The Claim kind: one object's right to a name. A Claim is named by a digest of scope and name, so create in the API server decides every race.
import { z } from "zod";
import { readyStatus, type Resource } from "../../kube/api/resource.ts";
import { GROUP } from "../groups.ts";
import { defineKind } from "../kind.ts";

export const Claim = defineKind({
  group: GROUP,
  kind: "Claim",
  plural: "claims",
  namespaced: true,
  livesIn: ["system"],
  shortNames: ["cfclaim"],
  description:
    "Reserves a name for one object. Only the platform writes it; docs/kinds/claim.md explains how races are decided.",
  columns: [
    { name: "Scope", jsonPath: ".spec.scope" },
    { name: "Claimed", jsonPath: ".spec.claimed" },
    { name: "Kind", jsonPath: ".spec.claimant.kind" },
    { name: "Namespace", jsonPath: ".spec.claimant.namespace" },
    { name: "Name", jsonPath: ".spec.claimant.name" },
  ],
  spec: z.object({
    scope: z.string().max(512).describe("Scope in which the name must be unique."),
    claimed: z.string().max(1024).describe("The name, case-folded."),
    claimant: z.object({
      kind: z.string().max(63),
      namespace: z.string().max(63).optional(),
      name: z.string().max(253),
    }),
    since: z
      .string()
      .max(64)
      .meta({ format: "date-time" })
      .describe(
        "When the claimant took the name. The claim is valid for 30 seconds, and after that as long as the claimant exists and has this name.",
      ),
  }),
  status: readyStatus({}),
});
export type Claim = Resource<typeof Claim>;

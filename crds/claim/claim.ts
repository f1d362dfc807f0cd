// What a Claim is: the right to a name. Its own name is a digest of what it claims, so that Kubernetes' create decides every race.
import { z } from "zod";
import { defineResource, readyStatus, type Resource } from "../../kube/api/resource.ts";
import { GROUP } from "../groups.ts";

export const Claim = defineResource({
  group: GROUP,
  kind: "Claim",
  plural: "claims",
  namespaced: true,
  shortNames: ["cfclaim"],
  description:
    "The right of one object to a name. Written by the platform only; docs/kinds/claim.md says how races are decided.",
  columns: [
    { name: "Scope", jsonPath: ".spec.scope" },
    { name: "Claimed", jsonPath: ".spec.claimed" },
    { name: "Kind", jsonPath: ".spec.claimant.kind" },
    { name: "Namespace", jsonPath: ".spec.claimant.namespace" },
    { name: "Name", jsonPath: ".spec.claimant.name" },
  ],
  spec: z.object({
    scope: z.string().max(512).describe("What the name must be unique in."),
    claimed: z.string().max(1024).describe("The folded name."),
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
        "When the claimant took it; it holds for 30 s from then, after that while the claimant exists and bears the name.",
      ),
  }),
  status: readyStatus({}),
});
export type Claim = Resource<typeof Claim>;

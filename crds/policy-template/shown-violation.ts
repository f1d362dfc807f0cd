// A violation of operator policy as the status of an App or a Space shows it to its people. Schema only.
import { z } from "zod";
import { listAtomic } from "../../kube/api/resource.ts";

export const MAX_SHOWN_VIOLATIONS = 20;

const shownViolation = z.object({
  constraint: z.string().max(320).describe("The constraint, as Kind/name."),
  action: z.enum(["deny", "warn", "dryrun"]).describe("What it does at a write; dryrun only counts."),
  kind: z.string().max(63).describe("Kind of the object."),
  name: z.string().max(253).describe("Name of the object."),
  namespace: z.string().max(63).optional().describe("Its namespace, unless it is that of the object which shows it."),
  message: z.string().max(1024).describe("The sentence that a refused write shows."),
});

/** A field of the status. */
export const shownViolations = listAtomic(z.array(shownViolation).max(MAX_SHOWN_VIOLATIONS)).optional();
export type ShownViolation = z.output<typeof shownViolation>;

// A PersistentVolumeClaim that a workload's instances find in a folder, and who consents to that.
import { z } from "zod";
import { listMap } from "../kube/api/resource.ts";
import { objectName } from "./schema-fields.ts";
import { INTERNAL_LABELS } from "./labels.ts";

export const mountedClaims = listMap(
  z
    .array(
      z.object({
        mountPath: z
          .string()
          .min(2)
          .max(1024)
          .regex(/^\/[^:]+$/)
          .describe("The folder in each instance."),
        claimName: objectName.describe("The PersistentVolumeClaim, by name, in this namespace."),
        readOnly: z.boolean().describe("Whether instances can only read it."),
      }),
    )
    .max(20),
  ["mountPath"],
).describe("Volumes of bound services.");
export type MountedClaim = z.output<typeof mountedClaims>[number];

/** Values of the label on a claim by which somebody who may update claims opens it to bound apps. */
export const CLAIM_CONSENT = { label: INTERNAL_LABELS.volume, read: "read-only", write: "read-write" } as const;

/** May apps mount the claim in this way? */
export function isClaimOpen(labels: Readonly<Record<string, string>> | undefined, readOnly: boolean): boolean {
  const value = labels?.[CLAIM_CONSENT.label];
  return value === CLAIM_CONSENT.write || (readOnly && value === CLAIM_CONSENT.read);
}

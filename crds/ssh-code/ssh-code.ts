// The SSHCode kind: a code of `cf ssh` that nobody has used yet. Its name is a digest of the code, so deletion in the API server decides who uses it.
import { z } from "zod";
import { readyStatus, type Resource } from "../../kube/api/resource.ts";
import { GROUP } from "../groups.ts";
import { defineKind } from "../kind.ts";

/** Enough for a user with some hundred groups. */
export const MAX_SEALED = 64 * 1024;

export const SSHCode = defineKind({
  group: GROUP,
  kind: "SSHCode",
  plural: "sshcodes",
  namespaced: true,
  livesIn: ["system"],
  isReadByAPI: false,
  description:
    "A code of cf ssh that nobody has used yet. Only the platform writes it: the API makes it, the SSH proxy deletes it when it is used or has expired.",
  columns: [{ name: "Expires", jsonPath: ".spec.expiresAt" }],
  spec: z.object({
    sealed: z
      .string()
      .max(MAX_SEALED)
      .describe(
        "Who asked for the code, encrypted with a key of the installation and the code itself, which is not stored.",
      ),
    expiresAt: z.string().max(64).meta({ format: "date-time" }).describe("The proxy takes the code until then."),
  }),
  status: readyStatus({}),
});
export type SSHCode = Resource<typeof SSHCode>;

// `POST /v3/resource_matches`: which files of a push need not be uploaded again.
import { z } from "zod";
import { endpoint, type Endpoint } from "../http/endpoint.ts";
import { requireFlag } from "../cf/feature-flags.ts";

const body = z.strictObject({
  resources: z
    .array(
      z.object({
        path: z.string().max(4096).optional(),
        mode: z.string().max(10).optional(),
        checksum: z.strictObject({ value: z.string().length(40) }),
        size_in_bytes: z.int().min(0),
      }),
    )
    .min(1, "must have at least one resource")
    .max(5000, "is too long (maximum is 5000 resources)"),
});

// The request names no space, and what one space has uploaded is nobody else's to know: so nothing matches, which CF allows.
export const resourceMatchEndpoints: readonly Endpoint[] = [
  endpoint({
    method: "POST",
    path: "/v3/resource_matches",
    permission: "authenticated",
    body,
    summary: "Find files that are known already",
    handler: ({ session }) => {
      requireFlag(session, "app_bits_upload");
      return { status: 201, body: { resources: [] } };
    },
  }),
];

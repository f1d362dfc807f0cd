// Bodies and queries of network policies, in the form of Cloud Foundry's policy server.
import { z } from "zod";
import { csv } from "../http/query.ts";

const port = z.int().min(1, "must be from 1 to 65535").max(65535, "must be from 1 to 65535");
const appGUID = z.string().min(1).max(255);

const policy = z.strictObject({
  source: z.strictObject({ id: appGUID }),
  destination: z.strictObject({
    id: appGUID,
    protocol: z.enum(["tcp", "udp"], { error: "must be 'tcp' or 'udp'" }),
    ports: z
      .strictObject({ start: port, end: port })
      .refine(({ start, end }) => start <= end, "must not end before they start"),
  }),
});
export type PolicyInput = z.output<typeof policy>;

export const policiesBody = z.strictObject({ policies: z.array(policy).min(1).max(100) });
export const policiesQuery = z.strictObject({
  id: csv.optional(),
  source_id: csv.optional(),
  dest_id: csv.optional(),
});

// Bodies and queries of service brokers.
import { z } from "zod";
import { findBundleProblem, MAX_CA_BUNDLE } from "../../crds/service-broker/ca-bundle.ts";
import { metadataSchema } from "../http/metadata.ts";
import { csv, listQuery } from "../http/query.ts";
import { nameSchema, optionalRelationships, toOneSchema } from "../http/shared-schemas.ts";

const text = z.string().min(1, "can't be blank").max(1024);

const url = z
  .string()
  .max(1024)
  .superRefine((value, context) => {
    const message = urlProblem(value);
    if (message !== undefined) context.addIssue({ code: "custom", message });
  });

function urlProblem(value: string): string | undefined {
  if (!/^https?:\/\//.test(value) || !URL.canParse(value)) return "must be a valid url";
  const { username, password, search, hash } = new URL(value);
  if (username !== "" || password !== "") return "must not contain authentication";
  return search !== "" || hash !== "" || /[?#\s]/.test(value) ? "must be a valid url" : undefined;
}

/** An extension of Cloud Foundry's API: PEM certificates of the broker's own authorities. */
const caBundle = z
  .string()
  .max(MAX_CA_BUNDLE)
  .superRefine((text, context) => {
    const problem = findBundleProblem(text);
    if (problem !== undefined)
      context.addIssue({ code: "custom", message: `is no bundle of certificates: ${problem}` });
  });

const authentication = z.strictObject({
  type: z.literal("basic", "authentication.type must be one of ['basic']"),
  credentials: z.strictObject({ username: text, password: text }),
});

export const createBrokerBody = z.strictObject({
  name: nameSchema,
  url,
  authentication,
  ca_bundle: caBundle.optional(),
  relationships: optionalRelationships({ space: toOneSchema.optional() }),
  metadata: metadataSchema.optional(),
});
export type CreateBroker = z.output<typeof createBrokerBody>;

export const updateBrokerBody = z.strictObject({
  name: nameSchema.optional(),
  url: url.optional(),
  authentication: authentication.optional(),
  ca_bundle: caBundle.nullable().optional(),
  metadata: metadataSchema.optional(),
});

export const brokerListQuery = listQuery({ names: csv.optional(), space_guids: csv.optional() }, { orders: ["name"] });

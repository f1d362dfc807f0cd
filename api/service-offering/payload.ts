// Queries of service offerings.
import { z } from "zod";
import { fields } from "../http/fields.ts";
import { booleanText, csv, listQuery } from "../http/query.ts";

const included = { "fields[service_broker]": fields("service_broker", "guid", "name") };

export const offeringQuery = z.strictObject(included);
export type OfferingFields = z.output<typeof offeringQuery>;

export const offeringListQuery = listQuery(
  {
    available: booleanText.optional(),
    broker_catalog_ids: csv.optional(),
    service_broker_guids: csv.optional(),
    service_broker_names: csv.optional(),
    names: csv.optional(),
    space_guids: csv.optional(),
    organization_guids: csv.optional(),
    ...included,
  },
  { orders: ["name"] },
);

export const purgeQuery = z.strictObject({ purge: booleanText.optional() });

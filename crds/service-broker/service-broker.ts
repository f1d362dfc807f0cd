// The ServiceBroker kind: a server that makes service instances, and the offerings in its catalog.
import { z } from "zod";
import { defineResource, readyStatus, type Resource } from "../../kube/api/resource.ts";
import { cfName } from "../cf-name.ts";
import { CATEGORY, GROUP } from "../groups.ts";
import { refTo } from "../schema-fields.ts";

export const ServiceBroker = defineResource({
  group: GROUP,
  kind: "ServiceBroker",
  plural: "servicebrokers",
  namespaced: true,
  shortNames: ["cfbroker"],
  categories: [CATEGORY],
  description:
    "A server that speaks the Open Service Broker API. In the system namespace its offerings are for all spaces; in a space's namespace, for that space.",
  columns: [
    { name: "CF-Name", jsonPath: ".spec.name" },
    { name: "URL", jsonPath: ".spec.url" },
    { name: "Offerings", jsonPath: ".status.offerings", type: "integer" },
  ],
  spec: z.object({
    name: cfName.describe("The name that cf shows. Unique on the platform."),
    url: z
      .string()
      .max(1024)
      .regex(/^https?:\/\/[^/@?#\s]+(\/[^?#\s]*)?$/)
      .describe("Address of the broker, without credentials. Its catalog is at /v2/catalog below it."),
    credentialsSecretRef: refTo("Secret").describe(
      "The Secret with the keys username and password, in this namespace. It must be labelled cupola.dev/env=allowed, unless the API wrote it.",
    ),
  }),
  status: readyStatus({
    offerings: z.int().min(0).optional().describe("How many offerings its catalog has."),
    catalogFetchedAt: z
      .string()
      .max(64)
      .meta({ format: "date-time" })
      .optional()
      .describe("When its catalog was last fetched."),
  }),
});
export type ServiceBroker = Resource<typeof ServiceBroker>;

// The ServiceBroker kind: a server that makes service instances, and the offerings in its catalog.
import { z } from "zod";
import { listSet, readyStatus, type Resource } from "../../kube/api/resource.ts";
import { cfName } from "../cf-name.ts";
import { CATEGORY, GROUP } from "../groups.ts";
import { refTo } from "../schema-fields.ts";
import { catalogID } from "../service-offering/service-offering.ts";
import { defineKind, READ, WRITE } from "../kind.ts";
import { MAX_CA_BUNDLE } from "./ca-bundle.ts";
import { GLOBAL_AUDITOR_CLUSTER_ROLE, SPACE_DEVELOPER, SPACE_SUPPORTER } from "../roles.ts";

/** Offerings of a catalog that may be left out. */
export const MAX_PURGED_OFFERINGS = 500;

export const ServiceBroker = defineKind({
  group: GROUP,
  kind: "ServiceBroker",
  plural: "servicebrokers",
  namespaced: true,
  livesIn: ["space", "system"],
  permissions: [
    // Those of a space's own brokers. Of the others the CF API shows what a plan's visibility allows.
    { verbs: READ, roles: [SPACE_DEVELOPER, SPACE_SUPPORTER, GLOBAL_AUDITOR_CLUSTER_ROLE] },
    { verbs: WRITE, roles: [SPACE_DEVELOPER] },
  ],
  deletionJob: "service_broker.delete",
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
    credentialsSecretRef: refTo("Secret")
      .extend({
        prefix: z
          .string()
          .min(1)
          .max(63)
          .regex(/^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/)
          .optional()
          .describe("With it the keys are PREFIX.username and PREFIX.password."),
      })
      .describe(
        "The Secret with the keys username and password, in this namespace. It must be labelled cupola.dev/env=allowed, unless the API wrote it. In the system namespace it is cupola-broker-credentials, with a prefix for each broker. The API keeps those of a space's broker in the system namespace, too, where a name cupola-space-broker-credentials-N and a prefix lead to.",
      ),
    caBundle: z
      .string()
      .min(1)
      .max(MAX_CA_BUNDLE)
      .optional()
      .describe(
        "PEM certificates of the authorities from which the broker's own certificate comes, for an https address. They take the place of those that the platform trusts.",
      ),
    purgedOfferings: listSet(z.array(catalogID).max(MAX_PURGED_OFFERINGS))
      .optional()
      .describe(
        "Ids of offerings of its catalog that are left out. cf purge-service-offering adds one, cf update-service-broker takes all away.",
      ),
  }),
  status: readyStatus({
    offerings: z.int().min(0).optional().describe("How many offerings its catalog has."),
    catalog: z.string().max(64).optional().describe("Digest of the offerings and plans that were made of it."),
    catalogFetchedAt: z
      .string()
      .max(64)
      .meta({ format: "date-time" })
      .optional()
      .describe("When its catalog was last fetched."),
    fetchFailures: z
      .int()
      .min(0)
      .optional()
      .describe("How often the catalog was asked for in vain, one time after the other."),
    fetchFailedAt: z
      .string()
      .max(64)
      .meta({ format: "date-time" })
      .optional()
      .describe(
        "When that was last. It is asked for again after 10 s, then twice as long each time, up to 10 minutes.",
      ),
  }),
});
export type ServiceBroker = Resource<typeof ServiceBroker>;

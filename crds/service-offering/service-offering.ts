// The ServiceOffering kind: what a service broker offers, such as a database. Its plans are the sizes and prices.
import { z } from "zod";
import { listAtomic, readyStatus, type Resource } from "../../kube/api/resource.ts";
import { cfName } from "../cf-name.ts";
import { CATEGORY, GROUP } from "../groups.ts";
import { refTo } from "../schema-fields.ts";
import { defineKind, READ } from "../kind.ts";
import { SPACE_READERS, SPACE_DEVELOPER } from "../roles.ts";

/** Characters of a JSON text from a catalog. */
export const MAX_CATALOG_JSON = 65_536;
/** An id of a catalog, which brokers choose. */
export const catalogID = z.string().min(1).max(255);
/** Where a catalog has an entry, from 0. */
export const catalogPosition = z.int().min(0).max(10_000).default(0).describe("Its place in the broker's catalog.");
const jsonText = z.string().max(MAX_CATALOG_JSON);

export const ServiceOffering = defineKind({
  group: GROUP,
  kind: "ServiceOffering",
  plural: "serviceofferings",
  namespaced: true,
  livesIn: ["space", "system"],
  permissions: [
    { verbs: READ, roles: SPACE_READERS },
    { verbs: ["patch"], roles: [SPACE_DEVELOPER] },
  ],
  shortNames: ["cfoffering"],
  categories: [CATEGORY],
  description:
    "What a ServiceBroker offers. Made from its catalog, in its namespace; labels and annotations are yours.",
  columns: [
    { name: "CF-Name", jsonPath: ".spec.name" },
    { name: "Broker", jsonPath: ".spec.brokerRef.name" },
    { name: "Available", jsonPath: ".spec.available", type: "boolean" },
  ],
  spec: z.object({
    name: cfName.describe("The name that cf shows."),
    brokerRef: refTo("ServiceBroker"),
    catalogID: catalogID.describe("The broker's id for it."),
    position: catalogPosition,
    description: z.string().max(10_000).default("").describe("What it is, in the broker's words."),
    tags: listAtomic(z.array(z.string().max(2048)).max(100))
      .default([])
      .describe("Words by which apps find its instances in VCAP_SERVICES."),
    requires: listAtomic(z.array(z.enum(["syslog_drain", "route_forwarding", "volume_mount"])).max(3))
      .default([])
      .describe("What its bindings may ask for besides credentials."),
    bindable: z.boolean().default(true).describe("Whether its instances can be bound, unless a plan says otherwise."),
    bindingsRetrievable: z.boolean().default(false).describe("Whether the broker tells of a binding again."),
    instancesRetrievable: z.boolean().default(false).describe("Whether the broker tells of an instance again."),
    planUpdateable: z.boolean().default(false).describe("Whether an instance can change its plan."),
    allowContextUpdates: z.boolean().default(false).describe("Whether the broker is told of a new name."),
    shareable: z.boolean().default(false).describe("Whether its instances can be shared with other spaces."),
    dashboardClient: z
      .boolean()
      .optional()
      .describe("Whether its catalog asks for an OAuth2 client for its dashboard. The platform makes none."),
    documentationURL: z.string().max(2048).optional().describe("Where it is documented."),
    metadata: jsonText.optional().describe("What else the catalog says of it, as JSON."),
    available: z
      .boolean()
      .default(true)
      .describe("False when the catalog no longer has it and instances still use it."),
  }),
  status: readyStatus({}),
});
export type ServiceOffering = Resource<typeof ServiceOffering>;

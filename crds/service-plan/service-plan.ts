// The ServicePlan kind: a size and price of a ServiceOffering, and who may use it.
import { z } from "zod";
import { listSet, readyStatus, type Resource } from "../../kube/api/resource.ts";
import { cfName } from "../cf-name.ts";
import { CATEGORY, GROUP } from "../groups.ts";
import { objectName, refTo } from "../schema-fields.ts";
import { catalogID, catalogPosition, MAX_CATALOG_JSON } from "../service-offering/service-offering.ts";
import { defineKind, READ } from "../kind.ts";
import { SPACE_READERS, SPACE_DEVELOPER } from "../roles.ts";

const jsonText = z.string().max(MAX_CATALOG_JSON);
/** Orgs that a plan may be enabled for. */
export const MAX_PLAN_ORGS = 1000;

export const ServicePlan = defineKind({
  group: GROUP,
  kind: "ServicePlan",
  plural: "serviceplans",
  namespaced: true,
  livesIn: ["space", "system"],
  permissions: [
    { verbs: READ, roles: SPACE_READERS },
    { verbs: ["patch"], roles: [SPACE_DEVELOPER] },
  ],
  shortNames: ["cfplan"],
  categories: [CATEGORY],
  description:
    "A size and price of a ServiceOffering. Made from its broker's catalog, in its namespace; visibility, labels and annotations are yours.",
  columns: [
    { name: "CF-Name", jsonPath: ".spec.name" },
    { name: "Offering", jsonPath: ".spec.offeringRef.name" },
    { name: "Visibility", jsonPath: ".spec.visibility.type" },
    { name: "Available", jsonPath: ".spec.available", type: "boolean" },
  ],
  spec: z.object({
    name: cfName.describe("The name that cf shows."),
    offeringRef: refTo("ServiceOffering"),
    catalogID: catalogID.describe("The broker's id for it."),
    position: catalogPosition,
    description: z.string().max(10_000).default("").describe("What it is, in the broker's words."),
    free: z.boolean().default(true).describe("False for a paid plan, which a quota may forbid."),
    bindable: z.boolean().optional().describe("Whether its instances can be bound. Defaults to the offering's."),
    planUpdateable: z
      .boolean()
      .optional()
      .describe("Whether an instance can change from it to another plan. Defaults to the offering's."),
    bindingRotatable: z
      .boolean()
      .optional()
      .describe("Whether its broker makes a new binding as the successor of an older one."),
    costs: jsonText.optional().describe("What it costs, as a JSON list."),
    metadata: jsonText.optional().describe("What else the catalog says of it, as JSON."),
    schemas: jsonText.optional().describe("The JSON schemas of its parameters, as JSON."),
    maintenanceInfo: z
      .object({
        version: z.string().max(255).describe("Version of what instances run."),
        description: z.string().max(10_000).optional().describe("What an upgrade to it brings."),
      })
      .optional()
      .describe("The newest version, to which cf upgrade-service brings an instance."),
    maximumPollingDuration: z
      .int()
      .min(1)
      .max(604_800)
      .optional()
      .describe("Seconds after which an operation that is still under way has failed."),
    available: z
      .boolean()
      .default(true)
      .describe("False when the catalog no longer has it and instances still use it."),
    visibility: z
      .object({
        type: z.enum(["public", "admin", "organization", "space"]).describe("Who may use it."),
        orgs: listSet(z.array(objectName).max(MAX_PLAN_ORGS))
          .optional()
          .describe("Object names of the orgs, with organization."),
      })
      .optional()
      .describe(
        "Who may use it. Defaults to space for a broker of a space, else to admin. cf enable-service-access sets it.",
      ),
  }),
  status: readyStatus({}),
});
export type ServicePlan = Resource<typeof ServicePlan>;

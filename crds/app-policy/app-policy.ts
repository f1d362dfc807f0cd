// The AppPolicy kind: an app may reach another app's instances directly, as `cf add-network-policy` says it.
import { z } from "zod";
import { immutable, readyStatus, type Resource } from "../../kube/api/resource.ts";
import { CATEGORY, GROUP } from "../groups.ts";
import { defineKind, READ, WRITE } from "../kind.ts";
import { SPACE_DEVELOPER, SPACE_READERS } from "../roles.ts";
import { objectName } from "../schema-fields.ts";

const port = z.int().min(1).max(65535);

export const AppPolicy = defineKind({
  group: GROUP,
  kind: "AppPolicy",
  plural: "apppolicies",
  namespaced: true,
  livesIn: ["space"],
  deletedWithSpace: "first",
  permissions: [
    { verbs: READ, roles: SPACE_READERS },
    { verbs: WRITE, roles: [SPACE_DEVELOPER] },
  ],
  shortNames: ["cfapppolicy"],
  categories: [CATEGORY],
  description:
    "Lets an app connect to the instances of another app, which is in this namespace. Whoever creates one needs the right to create one in the namespace of the source, too. On a cluster it becomes rules of NetworkPolicies in both.",
  columns: [
    { name: "Source", jsonPath: ".spec.source.app" },
    { name: "From", jsonPath: ".spec.source.namespace" },
    { name: "Destination", jsonPath: ".spec.destination.app" },
    { name: "Protocol", jsonPath: ".spec.protocol" },
    { name: "First", jsonPath: ".spec.ports.start", type: "integer" },
    { name: "Last", jsonPath: ".spec.ports.end", type: "integer" },
  ],
  rules: [{ rule: "self.spec.ports.start <= self.spec.ports.end", message: "ports.start comes after ports.end" }],
  spec: immutable(
    z.object({
      source: z
        .object({
          namespace: z
            .string()
            .min(1)
            .max(63)
            .regex(/^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/),
          app: objectName,
        })
        .describe("The App that connects."),
      destination: z.object({ app: objectName }).describe("The App of this namespace that it reaches."),
      protocol: z.enum(["tcp", "udp"]).default("tcp"),
      ports: z.object({ start: port, end: port }).describe("First and last port."),
    }),
    "source",
    "destination",
    "protocol",
    "ports",
  ),
  status: readyStatus({
    sourceUID: z.string().max(63).optional().describe("The App that the policy was made for, by its uid."),
    destinationUID: z.string().max(63).optional().describe("As sourceUID, of the destination."),
  }),
});
export type AppPolicy = Resource<typeof AppPolicy>;

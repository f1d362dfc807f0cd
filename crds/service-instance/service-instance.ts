// The ServiceInstance kind: something that apps use and the platform does not run, such as a database, with the credentials to reach it.
import { z } from "zod";
import { defineResource, immutable, listAtomic, readyStatus, type Resource } from "../../kube/api/resource.ts";
import { displayName, refTo } from "../schema-fields.ts";
import { CATEGORY, GROUP } from "../groups.ts";

export const ServiceInstance = defineResource({
  group: GROUP,
  kind: "ServiceInstance",
  plural: "serviceinstances",
  namespaced: true,
  shortNames: ["cfservice"],
  categories: [CATEGORY],
  description:
    "Something that apps use and the platform does not run, such as a database. A ServiceBinding gives its credentials to an app.",
  columns: [
    { name: "CF-Name", jsonPath: ".spec.name" },
    { name: "Type", jsonPath: ".spec.type" },
  ],
  spec: immutable(
    z.object({
      name: displayName,
      type: z.enum(["user-provided"]).default("user-provided").describe("user-provided: people give its credentials."),
      tags: listAtomic(z.array(z.string().max(2048)).max(100))
        .default([])
        .describe("Words by which apps find it in VCAP_SERVICES."),
      credentialsSecretRef: refTo("Secret")
        .optional()
        .describe(
          "The Secret with its credentials: a key credentials with a JSON object, or one key for each credential. It must be labelled cupola.dev/env=allowed, unless the API wrote it.",
        ),
      syslogDrainURL: z.string().max(2048).optional().describe("Where logs of bound apps are to go. Kept and shown."),
      routeServiceURL: z
        .string()
        .max(2048)
        .optional()
        .describe("Where requests of bound routes are to go first. Kept and shown."),
    }),
    "type",
  ),
  status: readyStatus({}),
});
export type ServiceInstance = Resource<typeof ServiceInstance>;

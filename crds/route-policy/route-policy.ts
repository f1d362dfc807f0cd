// The RoutePolicy kind: who may call a route whose domain enforces route policies, an experiment of Cloud Foundry's.
import { z } from "zod";
import { immutable, readyStatus, type Resource } from "../../kube/api/resource.ts";
import { CATEGORY, GROUP } from "../groups.ts";
import { defineKind, READ, WRITE } from "../kind.ts";
import { ORG_AUDITOR_IN_SPACE, SPACE_DEVELOPER, SPACE_READERS } from "../roles.ts";
import { refTo } from "../schema-fields.ts";

/** Callers as Cloud Foundry names them: an app, the apps of a space or an org by GUID, or every app. */
export const SOURCE = /^cf:(any|(app|space|org):[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})$/;

export const RoutePolicy = defineKind({
  group: GROUP,
  kind: "RoutePolicy",
  plural: "routepolicies",
  namespaced: true,
  livesIn: ["space"],
  deletedWithSpace: "first",
  permissions: [
    { verbs: READ, roles: [...SPACE_READERS, ORG_AUDITOR_IN_SPACE] },
    { verbs: WRITE, roles: [SPACE_DEVELOPER] },
  ],
  audit: { lifecycle: { noun: "route_policy", deletion: "delete" }, outsideWrites: "changes and deletions" },
  shortNames: ["cfroutepolicy"],
  categories: [CATEGORY],
  description:
    "Lets apps call a route of a domain with routePolicies. No router here knows which app calls, so such a route is not served, whatever its policies say.",
  columns: [
    { name: "Route", jsonPath: ".spec.routeRef.name" },
    { name: "Source", jsonPath: ".spec.source" },
  ],
  spec: immutable(
    z.object({
      routeRef: refTo("Route"),
      source: z
        .string()
        .min(1)
        .max(64)
        .regex(SOURCE)
        .describe(
          "cf:app:GUID, cf:space:GUID, cf:org:GUID, or cf:any for every app. Nobody checks that the GUID exists.",
        ),
    }),
    "routeRef",
    "source",
  ),
  status: readyStatus({}),
});
export type RoutePolicy = Resource<typeof RoutePolicy>;

// The User kind: what the platform keeps of a Kubernetes user besides roles: that it is known, its labels and annotations.
import { z } from "zod";
import { immutable, readyStatus, type Resource } from "../../kube/api/resource.ts";
import { objectNameFor } from "../object-names.ts";
import { CATEGORY, GROUP } from "../groups.ts";
import { defineKind, READ } from "../kind.ts";
import { GLOBAL_AUDITOR_CLUSTER_ROLE } from "../roles.ts";

export const User = defineKind({
  group: GROUP,
  kind: "User",
  plural: "users",
  namespaced: true,
  permissions: [{ verbs: READ, roles: [GLOBAL_AUDITOR_CLUSTER_ROLE] }],
  shortNames: ["cfuser"],
  categories: [CATEGORY],
  description:
    "A record of a Kubernetes user, in the system namespace. Nothing depends on it: users log in by Kubernetes and hold roles by RoleBindings. It makes a user without roles known to cf, and keeps labels and annotations.",
  columns: [{ name: "User", jsonPath: ".spec.username" }],
  spec: immutable(
    z.object({ username: z.string().min(1).max(255).describe("The Kubernetes user name, which is CF's GUID.") }),
    "username",
  ),
  status: readyStatus({}),
});
export type User = Resource<typeof User>;

/** The object name of a user's record: one for each user name, so that Kubernetes' create decides a race. */
export function userObjectName(username: string): string {
  return objectNameFor(username, "user");
}

// What controllers of CF's kinds do beyond their definitions, in code that they share. For the generated roles.
import { ClusterRole, Namespace, Secret } from "../../kube/api/builtin.ts";
import { rightsOf, type Right } from "../../kube/controller/permissions.ts";
import { Claim } from "../../crds/claim/claim.ts";
import { Droplet } from "../../crds/droplet/droplet.ts";
import { Org } from "../../crds/org/org.ts";
import { Process } from "../../crds/process/process.ts";
import { Revision } from "../../crds/revision/revision.ts";
import { CF_ROLES, ORG_AUDITOR_IN_SPACE, ORG_CREATOR, ORG_MANAGER_IN_SPACE } from "../../crds/roles.ts";
import { Space } from "../../crds/space/space.ts";
import { createControllers } from "../controllers.ts";
import { SPACE_CONTENTS } from "../space/contents.ts";

/** ClusterRoles that controllers bind somebody to. A right to `bind` these, rather than `escalate`, is all that it takes. */
const BOUND = [ORG_MANAGER_IN_SPACE, ORG_AUDITOR_IN_SPACE, ORG_CREATOR, CF_ROLES.organization_user.clusterRole, CF_ROLES.organization_manager.clusterRole];

const BESIDES: readonly Right[] = [
  // identity.ts, claim/: names and GUIDs.
  { on: Claim, verbs: ["get", "create", "update", "delete"] },
  // environment.ts: immutable Secrets of variables, and the key of their names.
  { on: Secret, verbs: ["get", "create", "delete"] },
  // namespaces.ts
  { on: Namespace, verbs: ["create", "patch", "delete"] },
  // history.ts, space/contents.ts, org/: what is beyond its number, and what is in a space or org that goes.
  ...[...SPACE_CONTENTS, Space].map((on): Right => ({ on, verbs: ["delete"] })),
  // Made once: the web process and revisions by app/, droplets by build/.
  ...[Process, Revision, Droplet].map((on): Right => ({ on, verbs: ["create", "patch"] })),
  // What an org's and a space's managers may do by name; nobody can give a right that he does not hold.
  ...[Org, Space].map((on): Right => ({ on, verbs: ["update"] })),
  { on: ClusterRole, verbs: ["bind"], names: BOUND },
];

/** All of it. */
export function controllersRights(): Right[] {
  const controllers = createControllers({ apiURL: "", hasContent: () => Promise.resolve(false) });
  return [...controllers.flatMap(rightsOf), ...BESIDES];
}

// Presents a SecurityGroup as CF's JSON.
import { SecurityGroup } from "../../crds/security-group/security-group.ts";
import { Space } from "../../crds/space/space.ts";
import type { Session } from "../access/session.ts";
import { sortOldestFirst } from "../cf/creation-order.ts";
import { link, presentIdentity, toManyRelationship } from "../http/presentation.ts";

export type Lifecycle = "running" | "staging";

/** Does the space name the group for this lifecycle? */
export function isBound({ spec }: Space, group: SecurityGroup, lifecycle: Lifecycle): boolean {
  return spec.securityGroups?.[lifecycle].includes(group.metadata.name) ?? false;
}

/** GUIDs of the spaces that name the group and that the caller sees. */
export function listBoundSpaces(session: Session, group: SecurityGroup, lifecycle: Lifecycle): string[] {
  const spaces = session.list(Space, undefined, (space) => isBound(space, group, lifecycle));
  return sortOldestFirst(spaces).map((space) => session.cache.guid(Space, space));
}

export function presentGroup(session: Session, group: SecurityGroup, base: string): object {
  const at = presentIdentity(session.cache, SecurityGroup, group);
  return {
    ...at,
    name: group.spec.name,
    rules: group.spec.rules,
    globally_enabled: { ...group.spec.globallyEnabled },
    relationships: {
      running_spaces: toManyRelationship(listBoundSpaces(session, group, "running")),
      staging_spaces: toManyRelationship(listBoundSpaces(session, group, "staging")),
    },
    links: { self: link(`${base}/v3/security_groups/${at.guid}`) },
  };
}

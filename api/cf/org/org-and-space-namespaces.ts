// Maps CF's GUIDs of orgs and spaces to namespaces, for list filters and relationships.
import { Org } from "../../../crds/org/org.ts";
import { Space } from "../../../crds/space/space.ts";
import { unprocessable } from "../../http/errors.ts";
import type { Session } from "../../access/session.ts";

/** Namespaces of those of these orgs that the caller sees; undefined without a filter. */
export function orgNamespaces(session: Session, guids: readonly string[] | undefined): string[] | undefined {
  return guids?.flatMap((guid) => session.find(Org, guid)?.status?.namespace ?? []);
}

/** Namespaces of the spaces that match the filters; undefined without a filter. */
export function spaceNamespaces(
  session: Session,
  filter: { space_guids?: readonly string[] | undefined; organization_guids?: readonly string[] | undefined },
): string[] | undefined {
  const spaces = filter.space_guids?.flatMap((guid) => session.find(Space, guid) ?? []);
  const inOrgs = orgNamespaces(session, filter.organization_guids);
  if (!inOrgs) return spaces?.flatMap((space) => space.status?.namespace ?? []);
  const found =
    spaces?.filter((space) => inOrgs.includes(space.metadata.namespace ?? "")) ??
    session.list(Space, { namespaces: inOrgs });
  return found.flatMap((space) => space.status?.namespace ?? []);
}

/** The space that a body names, with its namespace. @throws CFError 422 when the caller does not see it, or it is not ready */
export function resolveSpace(session: Session, guid: string): { space: Space; namespace: string } {
  const space = session.find(Space, guid);
  if (!space) throw unprocessable("Invalid space. Ensure that the space exists and you have access to it.");
  const { namespace } = space.status ?? {};
  if (!namespace) throw unprocessable("The space is not ready yet. Try again.");
  return { space, namespace };
}

/** The org that a body names, with its namespace. @throws CFError 422 when the caller does not see it, or it is not ready */
export function resolveOrg(session: Session, guid: string): { org: Org; namespace: string } {
  const org = session.find(Org, guid);
  if (!org) throw unprocessable("Invalid organization. Ensure the organization exists and you have access to it.");
  const { namespace } = org.status ?? {};
  if (!namespace) throw unprocessable("The organization is not ready yet. Try again.");
  return { org, namespace };
}

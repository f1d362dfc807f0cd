// The spaces of a security group: a Space names its groups, so that its managers bind and unbind those that they see.
import { SecurityGroup } from "../../crds/security-group/security-group.ts";
import { Space } from "../../crds/space/space.ts";
import type { Session } from "../access/session.ts";
import { requireNotSuspended } from "../access/suspension.ts";
import { endpoint, noContent, ok, type Endpoint } from "../routing/endpoint.ts";
import { unprocessable } from "../http/errors.ts";
import { link, toManyRelationship } from "../http/presentation.ts";
import { addToManySchema } from "../http/shared-schemas.ts";
import { isBound, listBoundSpaces, type Lifecycle } from "./present.ts";
import { waitForReaders } from "./readers.ts";

const path = "/v3/security_groups/:guid/relationships";

/** @throws CFError 403 when the caller may not change one of them, 422 for those that the caller does not see */
export function resolveSpaces(session: Session, guids: readonly string[]): Space[] {
  const found = guids.map((guid) => session.find(Space, guid));
  for (const space of found) if (space) requireBindable(session, space);
  const missing = guids.filter((_guid, at) => !found[at]).map((guid) => `"${guid}"`);
  if (missing.length > 0)
    throw unprocessable(`Spaces with guids [${missing.join(", ")}] do not exist, or you do not have access to them.`);
  return found.flatMap((space) => space ?? []);
}

function requireBindable(session: Session, space: Space): void {
  const { namespace = "", name } = space.metadata;
  session.authorize({ verb: "patch", on: Space, namespace, name });
  requireNotSuspended(session, space.status?.namespace);
}

/** Adds the group to each of the spaces that does not name it. */
export async function bindSpaces(
  session: Session,
  group: SecurityGroup,
  spaces: readonly Space[],
  lifecycle: Lifecycle,
): Promise<void> {
  for (const space of spaces)
    await session.patchWithRetry(Space, space, (current) =>
      isBound(current, group, lifecycle)
        ? undefined
        : toPatch(lifecycle, [...(current.spec.securityGroups?.[lifecycle] ?? []), group.metadata.name]),
    );
}

function toPatch(lifecycle: Lifecycle, names: readonly string[]): Record<string, unknown> {
  return { spec: { securityGroups: { [lifecycle]: names } } };
}

function bindRow(lifecycle: Lifecycle): Endpoint {
  const relationship = `${lifecycle}_spaces` as const;
  return endpoint({
    method: "POST",
    path: `${path}/${relationship}`,
    permission: { verb: "patch", on: Space },
    body: addToManySchema,
    summary: `Bind a security group to spaces for ${lifecycle}`,
    handler: async ({ session, params, body, base }) => {
      const group = session.get(SecurityGroup, params.guid);
      const spaces = resolveSpaces(
        session,
        body.data.map(({ guid }) => guid),
      );
      await bindSpaces(session, group, spaces, lifecycle);
      await waitForReaders(session, group, spaces);
      return ok({
        ...toManyRelationship(listBoundSpaces(session, group, lifecycle)),
        links: { self: link(`${base}/v3/security_groups/${params.guid}/relationships/${relationship}`) },
      });
    },
  });
}

function unbindRow(lifecycle: Lifecycle): Endpoint {
  return endpoint({
    method: "DELETE",
    path: `${path}/${lifecycle}_spaces/:space_guid`,
    permission: { verb: "patch", on: Space },
    summary: `Unbind a security group from a space for ${lifecycle}`,
    handler: async ({ session, params }) => {
      const group = session.get(SecurityGroup, params.guid);
      const space = session.find(Space, params.space_guid);
      if (space) requireBindable(session, space);
      if (!space || !isBound(space, group, lifecycle))
        throw unprocessable(
          `Unable to unbind security group from space with guid '${params.space_guid}'. Ensure the space is bound to this security group.`,
        );
      await session.patchWithRetry(Space, space, (current) =>
        toPatch(
          lifecycle,
          (current.spec.securityGroups?.[lifecycle] ?? []).filter((name) => name !== group.metadata.name),
        ),
      );
      return noContent();
    },
  });
}

export const bindingEndpoints: readonly Endpoint[] = (["running", "staging"] as const).flatMap((lifecycle) => [
  bindRow(lifecycle),
  unbindRow(lifecycle),
]);

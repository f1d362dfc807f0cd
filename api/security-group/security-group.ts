// Endpoints of SecurityGroup: `/v3/security_groups`, and the groups of a space. bindings.ts binds them to spaces.
import { SYSTEM_NAMESPACE } from "../../crds/groups.ts";
import { SecurityGroup } from "../../crds/security-group/security-group.ts";
import { Space } from "../../crds/space/space.ts";
import type { Session } from "../access/session.ts";
import { listObjects, isOneOf } from "../lists/list-objects.ts";
import { accepted, created, endpoint, ok, type Endpoint } from "../routing/endpoint.ts";
import { unprocessable } from "../http/errors.ts";
import { presentPage } from "../lists/page.ts";
import { newDeletionJob } from "../jobs/jobs.ts";
import { bindingEndpoints, bindSpaces, resolveSpaces } from "./bindings.ts";
import { createGroupBody, groupListQuery, spaceGroupListQuery, updateGroupBody } from "./payload.ts";
import { isBound, listBoundSpaces, presentGroup, type Lifecycle } from "./present.ts";
import { waitForReaders } from "./readers.ts";
import { toNamedMetadata } from "../cf/free-object-name.ts";

const path = "/v3/security_groups/:guid";

const taken = (name: string | undefined) => () =>
  unprocessable(`Security group with name '${name ?? ""}' already exists.`);

const list = endpoint({
  method: "GET",
  path: "/v3/security_groups",
  permission: "authenticated",
  lists: [SecurityGroup, Space],
  query: groupListQuery,
  badQueryError: "UnprocessableEntity",
  summary: "List security groups",
  handler: ({ session, query, base, url }) => {
    const isOn = (wanted: boolean | undefined, value: boolean): boolean => wanted === undefined || wanted === value;
    const isIn = (guids: readonly string[] | undefined, group: SecurityGroup, lifecycle: Lifecycle): boolean =>
      !guids || listBoundSpaces(session, group, lifecycle).some((guid) => guids.includes(guid));
    const found = listObjects(session, SecurityGroup, query, {
      url,
      filter: (group) =>
        isOneOf(query.names, group.spec.name) &&
        isOn(query.globally_enabled_running, group.spec.globallyEnabled.running) &&
        isOn(query.globally_enabled_staging, group.spec.globallyEnabled.staging) &&
        isIn(query.running_space_guids, group, "running") &&
        isIn(query.staging_space_guids, group, "staging"),
      dependsOn: [Space],
    });
    return ok(presentPage(found, { base, url, query }, (group) => presentGroup(session, group, base)));
  },
});

const create = endpoint({
  method: "POST",
  path: "/v3/security_groups",
  permission: { verb: "create", on: SecurityGroup },
  asks: [{ verb: "patch", on: Space }],
  body: createGroupBody,
  summary: "Create a security group",
  handler: async ({ session, body, base }) => {
    session.authorize({ verb: "create", on: SecurityGroup, namespace: SYSTEM_NAMESPACE });
    const { running_spaces: running, staging_spaces: staging } = body.relationships ?? {};
    const [runningSpaces, stagingSpaces] = [running, staging].map((relationship) =>
      resolveSpaces(session, relationship?.data.map(({ guid }) => guid) ?? []),
    );
    const wanted = { namespace: SYSTEM_NAMESPACE, name: body.name, fallback: "group" };
    const group = await session.create(
      SecurityGroup,
      {
        metadata: toNamedMetadata(session.cache, SecurityGroup, wanted),
        spec: {
          name: body.name,
          rules: body.rules ?? [],
          globallyEnabled: { running: false, staging: false, ...body.globally_enabled },
        },
      },
      taken(body.name),
    );
    await bindSpaces(session, group, runningSpaces ?? [], "running");
    await bindSpaces(session, group, stagingSpaces ?? [], "staging");
    await waitForReaders(session, group, [...(runningSpaces ?? []), ...(stagingSpaces ?? [])]);
    return created(presentGroup(session, group, base));
  },
});

const update = endpoint({
  method: "PATCH",
  path,
  permission: { verb: "patch", on: SecurityGroup },
  body: updateGroupBody,
  summary: "Update a security group",
  handler: async ({ session, params, body, base }) => {
    const group = session.get(SecurityGroup, params.guid);
    const { name, rules, globally_enabled: globallyEnabled } = body;
    const spec = {
      ...(name !== undefined && { name }),
      ...(rules && { rules }),
      ...(globallyEnabled && { globallyEnabled }),
    };
    const renamed =
      name !== undefined && name !== group.spec.name
        ? { to: { ...group, spec: { ...group.spec, name } }, taken: taken(name) }
        : undefined;
    const after = await session.patch(SecurityGroup, group, { type: "merge", body: { spec } }, renamed);
    if (globallyEnabled) await waitForReaders(session, after);
    return ok(presentGroup(session, after, base));
  },
});

const remove = endpoint({
  method: "DELETE",
  path,
  permission: { verb: "delete", on: SecurityGroup },
  asks: [{ verb: "patch", on: Space }],
  summary: "Delete a security group",
  handler: async ({ session, params }) => {
    const group = session.get(SecurityGroup, params.guid);
    session.authorize({
      verb: "delete",
      on: SecurityGroup,
      namespace: SYSTEM_NAMESPACE,
      name: group.metadata.name,
    });
    await unbindAll(session, group);
    await session.delete(SecurityGroup, group);
    return accepted(await newDeletionJob(session, SecurityGroup, params.guid));
  },
});

/** A later group of the same name must not inherit the spaces. */
async function unbindAll(session: Session, { metadata: { name } }: SecurityGroup): Promise<void> {
  const without = (names: readonly string[] = []): string[] => names.filter((one) => one !== name);
  const isNamedBy = ({ spec: { securityGroups: groups } }: Space): boolean =>
    [...(groups?.running ?? []), ...(groups?.staging ?? [])].includes(name);
  for (const space of session.list(Space, undefined, isNamedBy))
    await session.patchWithRetry(Space, space, ({ spec: { securityGroups: groups } }) => ({
      spec: { securityGroups: { running: without(groups?.running), staging: without(groups?.staging) } },
    }));
}

function ofSpace(lifecycle: Lifecycle): Endpoint {
  return endpoint({
    method: "GET",
    path: `/v3/spaces/:guid/${lifecycle}_security_groups`,
    permission: { verb: "get", on: Space },
    lists: [SecurityGroup, Space],
    query: spaceGroupListQuery,
    badQueryError: "UnprocessableEntity",
    summary: `List security groups of a space for ${lifecycle}`,
    handler: ({ session, params, query, base, url }) => {
      const space = session.get(Space, params.guid);
      const found = listObjects(session, SecurityGroup, query, {
        url,
        filter: (group) =>
          isOneOf(query.names, group.spec.name) &&
          (group.spec.globallyEnabled[lifecycle] || isBound(space, group, lifecycle)),
        dependsOn: [Space],
      });
      return ok(presentPage(found, { base, url, query }, (group) => presentGroup(session, group, base)));
    },
  });
}

export const securityGroupEndpoints: readonly Endpoint[] = [
  list,
  endpoint({
    method: "GET",
    path,
    permission: { verb: "get", on: SecurityGroup },
    summary: "Get a security group",
    handler: ({ session, params, base }) => ok(presentGroup(session, session.get(SecurityGroup, params.guid), base)),
  }),
  create,
  update,
  remove,
  ...bindingEndpoints,
  ofSpace("running"),
  ofSpace("staging"),
];

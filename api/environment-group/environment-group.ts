// Endpoints of EnvironmentGroup: `/v3/environment_variable_groups/running` and `staging`.
import { EnvironmentGroup, type EnvironmentGroupName } from "../../crds/environment-group/environment-group.ts";
import { SYSTEM_NAMESPACE } from "../../crds/groups.ts";
import { updatedAt } from "../cache/object-times.ts";
import { findGroup, isGroupName } from "../cf/app/environment-groups.ts";
import { endpoint, ok, type Endpoint } from "../routing/endpoint.ts";
import { notFound, unprocessable } from "../http/errors.ts";
import { link } from "../http/presentation.ts";
import { updateGroupBody } from "./payload.ts";

const path = "/v3/environment_variable_groups/:name";

/** As JSON, as CF keeps it. */
const MAX_BYTES = 65_535;

function present(name: EnvironmentGroupName, group: EnvironmentGroup | undefined, base: string): object {
  return {
    name,
    var: group?.spec.variables ?? {},
    updated_at: group ? updatedAt(group) : null,
    links: { self: link(`${base}/v3/environment_variable_groups/${name}`) },
  };
}

/** @throws CFError 404 */
function groupNamed(name: string): EnvironmentGroupName {
  if (!isGroupName(name)) throw notFound("Environment variable group");
  return name;
}

const get = endpoint({
  method: "GET",
  path,
  permission: "authenticated",
  summary: "Get an environment variable group",
  handler: ({ session, params, base }) => {
    const name = groupNamed(params.name);
    return ok(present(name, findGroup(session.cache, name), base));
  },
});

const update = endpoint({
  method: "PATCH",
  path,
  permission: { verb: "patch", on: EnvironmentGroup },
  asks: [{ verb: "create", on: EnvironmentGroup }],
  body: updateGroupBody,
  summary: "Update an environment variable group",
  handler: async ({ session, params, body, base }) => {
    const key = { namespace: SYSTEM_NAMESPACE, name: params.name };
    session.authorize({ verb: "patch", on: EnvironmentGroup, ...key });
    const name = groupNamed(params.name);
    const group = findGroup(session.cache, name);
    const merged = Object.entries({ ...group?.spec.variables, ...body.var });
    const variables = Object.fromEntries(merged.filter((entry): entry is [string, string] => entry[1] !== null));
    if (Buffer.byteLength(JSON.stringify(variables)) > MAX_BYTES)
      throw unprocessable(
        "Environment variable group is too large. Specify fewer variables or reduce key/value lengths.",
      );
    const after = group
      ? await session.patch(EnvironmentGroup, group, { type: "merge", body: { spec: { variables: body.var } } })
      : await session.create(EnvironmentGroup, { metadata: key, spec: { variables } });
    return ok(present(name, after, base));
  },
});

export const environmentGroupEndpoints: readonly Endpoint[] = [get, update];

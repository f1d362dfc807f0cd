// The space commands.
import type { Resource } from "../api/client.ts";
import { confirm } from "../confirm.ts";
import { getNamed, keepImplicitTarget, type Context } from "../context.ts";
import { fields, table, type Result } from "../output.ts";
import { readViolations, toViolationLines } from "../policy/shown-violations.ts";
import { writeOrgAndSpace } from "../target/config.ts";
import { readQuota } from "../quota/read-quota.ts";
import { usageTable } from "../quota/usage.ts";

export async function listSpaces(context: Context): Promise<Result> {
  const org = await context.org();
  const spaces = await context.api.list("/v3/spaces", { organization_guids: org.guid, order_by: "name" });
  return {
    json: spaces,
    text:
      spaces.length === 0
        ? [`Org ${org.name} has no spaces. Make one: cup create-space NAME`]
        : table(
            ["name", "guid"],
            spaces.map((space) => [space.name, space.guid]),
          ),
  };
}

/** Makes a space in the targeted org or the one named, with the caller as manager and developer, as `cf` does. */
export async function createSpace(context: Context, name: string, options: { org?: string } = {}): Promise<Result> {
  const { api } = context;
  await keepImplicitTarget(context);
  const org = options.org === undefined ? await context.org() : await getNamed(api, "/v3/organizations", options.org);
  const space = await api.request<Resource>("POST", "/v3/spaces", {
    body: { name, relationships: { organization: { data: { guid: org.guid } } } },
  });
  const me = await api.request<{ name: string }>("GET", "/whoami");
  await createRole(api, "organization_user", me.name, { organization: { data: { guid: org.guid } } });
  for (const role of ["space_manager", "space_developer"])
    await createRole(api, role, me.name, { space: { data: { guid: space.guid } } });
  return { json: space, text: [`Space ${name} is there. Next: cup target --org ${org.name} --space ${name}`] };
}

async function createRole(api: Context["api"], type: string, username: string, relationship: object): Promise<void> {
  try {
    await api.request("POST", "/v3/roles", {
      body: { type, relationships: { user: { data: { username } }, ...relationship } },
    });
  } catch (error) {
    if (!(error instanceof Error && error.message.includes("already has"))) throw error;
  }
}

export async function deleteSpace(context: Context, name: string, options: { force?: boolean }): Promise<Result> {
  const org = await context.org();
  const space = await getNamed(context.api, "/v3/spaces", name, { organization_guids: org.guid });
  await confirm(`Delete space ${name} of org ${org.name} with all its apps?`, options.force);
  context.progress.step(`Deleting space ${name} and all in it`);
  await context.api.waitForJob((await context.api.start("DELETE", `/v3/spaces/${space.guid}`)).job);
  const { space: targeted, ...others } = context.target;
  if (targeted?.guid === space.guid) writeOrgAndSpace(others);
  return { json: { deleted: space.guid }, text: [`Space ${name} is gone.`] };
}

/** The space, or the targeted one, with what it uses of its quota; the org's quota holds beside it. */
export async function showSpace(context: Context, name?: string): Promise<Result> {
  const { api } = context;
  const org = await context.org();
  const { guid } =
    name === undefined
      ? await context.space()
      : await getNamed(api, "/v3/spaces", name, { organization_guids: org.guid });
  const [{ owner: space, quota, usage }, violations] = await Promise.all([
    readQuota(api, "space", guid),
    readViolations(context, "spaces", guid),
  ]);
  return {
    json: { ...space, quota, usage, policy_violations: violations },
    text: [
      ...fields([
        ["name", space.name],
        ["guid", guid],
        ["org", org.name],
        ["suspended", space.suspended ? "yes" : "no"],
        ["quota", quota?.name ?? "none of its own"],
      ]),
      "",
      ...usageTable({ ...usage, domains: 0 }, quota),
      ...toViolationLines(violations),
    ],
  };
}

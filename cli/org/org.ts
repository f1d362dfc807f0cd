// The org commands.
import type { Resource } from "../api/client.ts";
import { confirm } from "../confirm.ts";
import { getNamed, keepImplicitTarget, type Context } from "../context.ts";
import { fields, table, type Result } from "../output.ts";
import { writeOrgAndSpace } from "../target/config.ts";
import { readQuota } from "../quota/read-quota.ts";
import { usageTable } from "../quota/usage.ts";

export async function listOrgs({ api }: Context): Promise<Result> {
  const orgs = await api.list("/v3/organizations", { order_by: "name" });
  return {
    json: orgs,
    text:
      orgs.length === 0
        ? ["You have no orgs. Make one: cup create-org NAME"]
        : table(
            ["name", "guid"],
            orgs.map((org) => [org.name, org.guid]),
          ),
  };
}

export async function createOrg(context: Context, name: string): Promise<Result> {
  await keepImplicitTarget(context);
  const org = await context.api.request<Resource>("POST", "/v3/organizations", { body: { name } });
  return { json: org, text: [`Org ${name} is there. Next: cup target --org ${name}`] };
}

export async function deleteOrg(
  { api, progress, target }: Context,
  name: string,
  options: { force?: boolean },
): Promise<Result> {
  const org = await getNamed(api, "/v3/organizations", name);
  await confirm(`Delete org ${name} with all its spaces and apps?`, options.force);
  progress.step(`Deleting org ${name} and all in it`);
  await api.waitForJob((await api.start("DELETE", `/v3/organizations/${org.guid}`)).job);
  if (target.org?.guid === org.guid) writeOrgAndSpace({});
  return { json: { deleted: org.guid }, text: [`Org ${name} is gone.`] };
}

/** The org, or the targeted one, with what it uses of its quota. */
export async function showOrg(context: Context, name?: string): Promise<Result> {
  const { api } = context;
  const { guid } = name === undefined ? await context.org() : await getNamed(api, "/v3/organizations", name);
  const { owner: org, quota, usage } = await readQuota(api, "org", guid);
  const spaces = await api.list("/v3/spaces", { organization_guids: guid, order_by: "name" });
  return {
    json: { ...org, quota, usage },
    text: [
      ...fields([
        ["name", org.name],
        ["guid", guid],
        ["suspended", org.suspended ? "yes" : "no"],
        ["spaces", spaces.map((space) => space.name).join(", ") || "none"],
        ["quota", quota?.name ?? "none"],
      ]),
      "",
      ...usageTable(usage, quota),
    ],
  };
}

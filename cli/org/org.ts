// The org commands.
import type { Resource } from "../api/client.ts";
import { confirm } from "../confirm.ts";
import { getNamed, type Context } from "../context.ts";
import { table, type Result } from "../output.ts";

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

export async function createOrg({ api }: Context, name: string): Promise<Result> {
  const org = await api.request<Resource>("POST", "/v3/organizations", { body: { name } });
  return { json: org, text: [`Org ${name} is there. Next: cup target --org ${name}`] };
}

export async function deleteOrg(
  { api, progress }: Context,
  name: string,
  options: { force?: boolean },
): Promise<Result> {
  const org = await getNamed(api, "/v3/organizations", name);
  await confirm(`Delete org ${name} with all its spaces and apps?`, options.force);
  progress.step(`Deleting org ${name} and all in it`);
  await api.waitForJob((await api.start("DELETE", `/v3/organizations/${org.guid}`)).job);
  return { json: { deleted: org.guid }, text: [`Org ${name} is gone.`] };
}

// Reads an org or a space with its quota and what it uses of it.
import type { ApiClient, Resource } from "../api/client.ts";
import type { Quota, Usage } from "./usage.ts";

const PATHS = {
  org: { owners: "/v3/organizations", quotas: "/v3/organization_quotas" },
  space: { owners: "/v3/spaces", quotas: "/v3/space_quotas" },
} as const;

export type QuotaPlace = keyof typeof PATHS;

export interface QuotaOwner {
  owner: Resource & { suspended: boolean; relationships: { quota: { data: { guid: string } | null } } };
  /** Undefined for a space without a quota of its own. */
  quota: Quota | undefined;
  usage: Usage;
}

export async function readQuota(api: ApiClient, place: QuotaPlace, guid: string): Promise<QuotaOwner> {
  const { owners, quotas } = PATHS[place];
  const path = `${owners}/${guid}`;
  const [owner, { usage_summary: usage }] = await Promise.all([
    api.request<QuotaOwner["owner"]>("GET", path),
    api.request<{ usage_summary: Usage }>("GET", `${path}/usage_summary`),
  ]);
  const { data } = owner.relationships.quota;
  const quota = data ? await api.request<Quota>("GET", `${quotas}/${data.guid}`) : undefined;
  return { owner, quota, usage };
}

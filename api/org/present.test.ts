// Orgs as CF shows them.
import { expect, test } from "vitest";
import { SYSTEM_NAMESPACE } from "../../crds/groups.ts";
import { OrgQuota } from "../../crds/org-quota/org-quota.ts";
import { anOrg, makeObject } from "../../crds/testing/objects.ts";
import { cacheOf } from "../cache/testing/cache-of.ts";
import { presentOrg } from "./present.ts";

const quota = (name: string, isDefault: boolean): OrgQuota =>
  makeObject(OrgQuota, name, { spec: { name, default: isDefault }, metadata: { namespace: SYSTEM_NAMESPACE } });
const quotas = [quota("small", false), quota("default", true)];

test.each<[string, object, OrgQuota[], string | undefined]>([
  ["that names one", { quotaRef: { name: "small" } }, quotas, "uid-small"],
  ["that names none is the default quota", {}, quotas, "uid-default"],
  [
    "that names one which does not exist is the default quota",
    { quotaRef: { name: "deleted" } },
    quotas,
    "uid-default",
  ],
  ["is none where no quota is the default", {}, [quota("small", false)], undefined],
])("the quota of an org %s", (_what, spec, known, guid) => {
  const presented = presentOrg(cacheOf(...known), anOrg(spec), "https://api");
  expect(presented).toMatchObject({ relationships: { quota: { data: guid === undefined ? null : { guid } } } });
  if (guid) expect(presented).toHaveProperty("links.quota.href", `https://api/v3/organization_quotas/${guid}`);
  else expect(presented).not.toHaveProperty("links.quota");
});

test("its name, suspension and links", () => {
  expect(presentOrg(cacheOf(), anOrg({ name: "Acme Corp", suspended: true }), "https://api")).toMatchObject({
    guid: "uid-acme",
    name: "Acme Corp",
    suspended: true,
    links: {
      self: { href: "https://api/v3/organizations/uid-acme" },
      default_domain: { href: "https://api/v3/organizations/uid-acme/domains/default" },
    },
  });
});

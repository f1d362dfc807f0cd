// An OrgQuota as CF shows it.
import { expect, test } from "vitest";
import { SYSTEM_NAMESPACE } from "../../crds/groups.ts";
import { Org } from "../../crds/org/org.ts";
import { OrgQuota } from "../../crds/org-quota/org-quota.ts";
import { makeObject } from "../../crds/testing/objects.ts";
import type { Session } from "../access/session.ts";
import { cacheOf } from "../cache/testing/cache-of.ts";
import { listOrgsWithQuota } from "./present.ts";

test("its orgs are in the order of creation, however the cache has them", () => {
  const made = makeObject(OrgQuota, "big", { spec: { name: "big" } });
  const quota = { ...made, metadata: { ...made.metadata, namespace: SYSTEM_NAMESPACE } };
  const orgs = ["c", "a", "b"].map((name) => {
    const org = makeObject(Org, name, { spec: { quotaRef: { name: "big" } } });
    return {
      ...org,
      metadata: {
        ...org.metadata,
        creationTimestamp: `2026-01-0${"abc".indexOf(name) + 1}T00:00:00Z`,
        uid: `uid-${name}`,
      },
    };
  });
  const session = { cache: cacheOf(quota, ...orgs), list: () => orgs } as unknown as Session;
  expect(listOrgsWithQuota(session, quota)).toEqual(["uid-a", "uid-b", "uid-c"]);
});

// Which moves of a route are refused before anything is written.
import { expect, test } from "vitest";
import { Claim } from "../../../crds/claim/claim.ts";
import { newClaim, routeName } from "../../../crds/claim/rules.ts";
import { Domain } from "../../../crds/domain/domain.ts";
import { SYSTEM_NAMESPACE } from "../../../crds/groups.ts";
import { OrgQuota } from "../../../crds/org-quota/org-quota.ts";
import { Org } from "../../../crds/org/org.ts";
import { Route } from "../../../crds/route/route.ts";
import { Space } from "../../../crds/space/space.ts";
import { ClusterRole, RoleBinding } from "../../../kube/api/builtin.ts";
import { createLiveCache, type LiveCache } from "../../access/testing/live-cache.ts";
import type { Session } from "../../access/session.ts";
import { moveRoute } from "./move-route.ts";

const domain = { metadata: { name: "apps", namespace: SYSTEM_NAMESPACE, uid: "d" }, spec: domainSpec("apps.example") };

function domainSpec(name: string): Domain["spec"] {
  return { name, internal: false, sharedOrgs: [] };
}

function addSpaces(live: LiveCache): void {
  const org = { metadata: { name: "acme", uid: "acme" }, spec: { name: "acme" }, status: { namespace: "acme" } };
  live.store(Org).upsert(org as unknown as Org);
  for (let at = 0; at < 12; at++) {
    const metadata = { name: `s${at}`, namespace: "acme", uid: `guid-${at}` };
    const space = { metadata, spec: { name: `s${at}` }, status: { namespace: `acme-s${at}` } };
    live.store(Space).upsert(space as unknown as Space);
  }
}

/** The org's only route, and a quota of one route for each org. */
function addFullQuota(live: LiveCache): void {
  const spec = Route.spec.parse({ host: "shop", domainRef: { name: "apps" } });
  const key = { namespace: "acme-s0", name: "shop" };
  live.store(Route).upsert({ kind: "Route", metadata: { ...key, uid: "r" }, spec } as unknown as Route);
  live.store(Claim).upsert(newClaim(routeName({ spec }, "apps.example"), { kind: "Route", ...key }, new Date(0)));
  const metadata = { name: "one", namespace: SYSTEM_NAMESPACE, uid: "one" };
  live.store(OrgQuota).upsert({ metadata, spec: { default: true, totalRoutes: 1 } } as unknown as OrgQuota);
}

/** A session of a caller who may write routes in every space but acme-s2. */
function setUp(): { live: LiveCache; move: (sharedSpaces?: string[]) => Promise<unknown> } {
  const live = createLiveCache();
  addSpaces(live);
  live.store(Domain).upsert(domain as unknown as Domain);
  const rules = [{ apiGroups: ["cupola.dev"], resources: ["routes"], verbs: ["get", "patch"] }];
  live.store(ClusterRole as never).upsert({ metadata: { name: "writer", uid: "writer" }, rules } as never);
  for (let at = 0; at < 12; at++)
    if (at !== 2)
      live.store(RoleBinding as never).upsert({
        metadata: { name: "dev", namespace: `acme-s${at}`, uid: `dev-${at}` },
        roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "writer" },
        subjects: [{ kind: "User", name: "dev" }],
      } as never);
  const move = async (sharedSpaces: string[] = []): Promise<unknown> => {
    const metadata = { name: "shop", namespace: "acme-s0", uid: "r" };
    const spec = Route.spec.parse({ host: "shop", domainRef: { name: "apps" }, sharedSpaces });
    const session = { ...live.session("dev"), move: () => Promise.resolve("moved") } as unknown as Session;
    const to = { namespace: "acme-s1", domain: domain as unknown as Domain };
    return moveRoute(session, { metadata, spec } as unknown as Route, to);
  };
  return { live, move };
}

const spaces = (from: number, count: number): string[] =>
  Array.from({ length: count }, (_none, at) => `acme-s${from + at}`);

test("a route shared with spaces in which the caller may write routes is moved", async () => {
  await expect(setUp().move(spaces(3, 7))).resolves.toBe("moved");
});

test("one shared with a space in which the caller may not write routes is not, and the refusal says why", async () => {
  await expect(setUp().move(["acme-s2", "acme-s3"])).rejects.toMatchObject({
    status: 422,
    message:
      "Unable to transfer owner of route: it is shared with spaces ['guid-2'] in which you don't have write permission. Unshare it from them first.",
  });
});

test("one shared with more spaces than one write may name is not, and the refusal says why", async () => {
  await expect(setUp().move(spaces(3, 8))).rejects.toMatchObject({
    status: 422,
    message:
      "Unable to transfer owner of route: it is shared with more than 7 other spaces. Unshare it from some of them first.",
  });
});

test("one whose domain's object name means another domain in the target org is not", async () => {
  const { live, move } = setUp();
  const metadata = { name: "apps", namespace: "acme", uid: "other" };
  live.store(Domain).upsert({ metadata, spec: domainSpec("apps.acme.example") } as unknown as Domain);
  await expect(move()).rejects.toMatchObject({
    status: 422,
    message: "Invalid domain. In organization 'acme' the object name 'apps' means another domain than 'apps.example'.",
  });
});

test("a move inside an org takes no further route of the org's quota", async () => {
  const { live, move } = setUp();
  addFullQuota(live);
  await expect(move()).resolves.toBe("moved");
});

// The platform's identity stays within what is the platform's, on both servers, although its role on a laptop gives it nearly everything.
import { beforeAll, describe, expect, test } from "vitest";
import type { Json } from "../kubernetes/api.ts";
import { eventually } from "../../eventually.ts";
import { listAttacks, listBoundRoles, listDuties, podSpec, type Places } from "./platform-attempts.ts";
import { makeOrgAndSpace, PLATFORM_TOKEN, type GetTestEnv } from "./test-env.ts";

const NAMESPACES = "/api/v1/namespaces";

export function platformTests(get: GetTestEnv): void {
  describe("the platform's identity", () => {
    let places: Places;
    beforeAll(async () => {
      const { orgNamespace, spaceNamespace } = await makeOrgAndSpace(get(), "bounds");
      places = { org: orgNamespace, space: spaceNamespace, theirs: "other-team", lent: "on-loan" };
      await makeForeignWorkloads((path, body) => get().kubernetes.post(path, body), places);
    }, 60_000);

    test("does nothing beyond the platform's work, whatever its role would let it", async () => {
      const platform = get().kubernetes.as({ token: PLATFORM_TOKEN });
      // A new policy counts a moment after it is there.
      await eventually(async () => {
        const passed: string[] = [];
        for (const { what, send } of listAttacks(places)) {
          const { status, body } = await send(platform);
          if (status !== 403) passed.push(`${what}: ${status} ${body?.message ?? ""}`);
        }
        expect(passed).toEqual([]);
      });
    });

    test("does that work", async () => {
      const platform = get().kubernetes.as({ token: PLATFORM_TOKEN });
      const refused: string[] = [];
      for (const { what, send } of listDuties(places)) {
        const { status, body } = await send(platform);
        if (status >= 300) refused.push(`${what}: ${status} ${body?.message ?? ""}`);
      }
      expect(refused).toEqual([]);
    });
  });
}

/** Another team's namespace with a workload, one that consents to adoption, and roles to bind. */
export async function makeForeignWorkloads(
  post: (path: string, body: Json) => Promise<{ status: number; text: string }>,
  places: Places,
): Promise<void> {
  const { org, space, theirs, lent } = places;
  const make = async (path: string, body: Json): Promise<void> => {
    const { status, text } = await post(path, body);
    expect([201, 409], text).toContain(status);
  };
  const namespace = (name: string, labels: Json): Promise<void> =>
    make(NAMESPACES, { apiVersion: "v1", kind: "Namespace", metadata: { name, labels } });
  await namespace(theirs, {});
  await namespace(lent, { "cupola.dev/adoptable-by": "any" });
  // The real server's controllers give each an account, without which no pod passes.
  for (const name of ["kube-system", "cupola-system", "default", org, space, theirs, lent])
    await make(`${NAMESPACES}/${name}/serviceaccounts`, {
      apiVersion: "v1",
      kind: "ServiceAccount",
      metadata: { name: "default" },
    });
  const metadata = { name: "theirs" };
  const labels = { app: "theirs" };
  await make(`/apis/apps/v1/namespaces/${theirs}/deployments`, {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata,
    spec: { replicas: 0, selector: { matchLabels: labels }, template: { metadata: { labels }, spec: podSpec() } },
  });
  await make(`${NAMESPACES}/${theirs}/services`, {
    apiVersion: "v1",
    kind: "Service",
    metadata,
    spec: { ports: [{ port: 80 }], selector: labels },
  });
  for (const { path, object } of listBoundRoles(places)) await make(path, object);
}

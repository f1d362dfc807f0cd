// How a spoke is left on real kube-apiservers: its instances move by a drain, and by a failover while it is silent.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { cordon } from "../../../cli/cluster/clusters.ts";
import { drain, failover } from "../../../cli/cluster/drain.ts";
import { silentProgress } from "../../../cli/output.ts";
import { BackendClass } from "../../../crds/backend-class/backend-class.ts";
import { Cluster } from "../../../crds/cluster/cluster.ts";
import { SYSTEM_NAMESPACE } from "../../../crds/groups.ts";
import { IsolationSegment } from "../../../crds/isolation-segment/isolation-segment.ts";
import { LRP } from "../../../crds/lrp/lrp.ts";
import type { KubeObject } from "../../../kube/api/object.ts";
import type { ResourceRef } from "../../../kube/api/resource-ref.ts";
import type { KubeClient } from "../../../kube/client/client.ts";
import type { Link } from "../../clusters/link.ts";
import type { Api as CFApi, Named } from "../../e2e/support/api.ts";
import { eventually } from "../../eventually.ts";

export interface LeavingFixtures {
  hub: KubeClient;
  cf: CFApi;
  /** It runs on the cluster east. */
  app: Named;
  /** From the hub to east. */
  link: Link;
  /** The app's. */
  namespace: string;
  /** The app's LRPs on east. */
  lrpsThere: () => Promise<LRP[]>;
}

export function leavingTests(given: () => LeavingFixtures): void {
  describe("is left", () => {
    const lrpsHere = async (): Promise<LRP[]> =>
      (await given().hub.list(LRP, { namespace: given().namespace })).items.filter(
        ({ metadata }) => !metadata.deletionTimestamp,
      );
    const place = (matchLabels: Record<string, string | null>): Promise<unknown> =>
      given().hub.patch(
        IsolationSegment,
        { namespace: SYSTEM_NAMESPACE, name: "shared" },
        { type: "merge", body: { spec: { placement: { clusters: { matchLabels } } } } },
      );
    const setStatus = (
      client: KubeClient,
      ref: ResourceRef,
      { metadata }: Pick<KubeObject, "metadata">,
      status: object,
    ) => client.patch(ref, metadata, { type: "merge", body: { status } }, { subresource: "status" });
    const RUNNING = { runningInstances: 1, instances: [{ index: 0, state: "Running", ready: true }] };
    const leaving = { wait: false, progress: silentProgress };

    beforeAll(async () => {
      // No runner is on the hub: the test plays it.
      await setStatus(
        given().hub,
        BackendClass,
        { metadata: { name: "deployment" } },
        { capabilities: { indexes: "any" } },
      );
      await place({ tier: null });
    });
    afterAll(() => place({ tier: "prod" }));

    async function untilHere(): Promise<void> {
      await eventually(async () => {
        const [lrp] = await lrpsHere();
        expect(lrp?.spec).toMatchObject({ instances: 1, indexes: [{ start: 0, end: 0 }] });
      }, 60_000);
    }
    async function runHere(): Promise<void> {
      for (const lrp of await lrpsHere()) await setStatus(given().hub, LRP, lrp, RUNNING);
    }
    /** Back to the spoke, by a restart. */
    async function returnThere(): Promise<void> {
      const { hub, cf, app, lrpsThere } = given();
      await cordon(hub, "east", false);
      await place({ tier: "prod" });
      await cf.call("POST", `/v3/apps/${app.guid}/actions/restart`);
      await eventually(async () => expect(await lrpsHere()).toEqual([]));
      await eventually(async () => expect(await lrpsThere()).toHaveLength(1), 60_000);
      await place({ tier: null });
    }

    test("new first when it is drained: its instance ends once its successor takes requests", async () => {
      const { hub, lrpsThere } = given();
      const [before] = await lrpsThere();
      await drain(hub, "east", leaving);
      await untilHere();
      expect((await lrpsThere()).map(({ metadata }) => metadata.uid)).toEqual([before?.metadata.uid]);
      await runHere();
      await eventually(async () => expect(await lrpsThere()).toEqual([]));
      await returnThere();
    }, 150_000);

    test("by a failover when it is silent, and ends what it lost when it is back", async () => {
      const { hub, link, lrpsThere } = given();
      link.set("black-hole");
      await eventually(async () => {
        const { status } = await hub.get(Cluster, { namespace: SYSTEM_NAMESPACE, name: "east" });
        expect(status?.conditions?.find(({ type }) => type === "Reachable")).toMatchObject({ reason: "Silent" });
      }, 60_000);
      await failover(hub, "east", leaving);
      await untilHere();
      await runHere();
      // Nobody reaches it.
      expect(await lrpsThere()).toHaveLength(1);
      link.set("open");
      await eventually(async () => expect(await lrpsThere()).toEqual([]), 60_000);
      expect(await lrpsHere()).toHaveLength(1);
      await returnThere();
    }, 200_000);
  });
}

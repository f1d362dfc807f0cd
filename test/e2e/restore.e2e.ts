// An etcd snapshot restored under three running replicas: a minute later all answer what is there, with the flags that keep versions growing and without.
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { App } from "../../crds/app/app.ts";
import { LRP } from "../../crds/lrp/lrp.ts";
import { guidOf } from "../../crds/guid.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { createClient } from "../../kube/client/create-client.ts";
import { whyNoBinaries, whyNoControlPlane } from "../cluster/binaries.ts";
import { restoreSnapshot, saveSnapshot } from "../cluster/etcd-snapshots.ts";
import { eventually } from "../eventually.ts";
import { apiAt, tokenOf, type Api, type Named, type Page } from "./support/api.ts";
import { startReplicatedPlatform } from "./support/replicated-platform.ts";
import { addClients, chosenPlatformKind } from "./support/start-test-platform.ts";
import type { TestPlatform } from "./support/test-platform.ts";

const reason =
  chosenPlatformKind() === "cluster" ? (whyNoControlPlane() ?? whyNoBinaries(["etcdutl"])) : "only on a control plane";
const CAUGHT_UP_MS = 60_000;

describe.skipIf(reason)(`a restored snapshot${reason ? `: ${reason}` : ""}`, () => {
  const folder = mkdtempSync(join(tmpdir(), "cupola-snapshot-"));
  const snapshot = join(folder, "snapshot.db");
  let cluster: Awaited<ReturnType<typeof startReplicatedPlatform>>;
  let stage: TestPlatform;
  let admin: KubeClient;
  let supervisor: NodeJS.Timeout;

  beforeAll(async () => {
    cluster = await startReplicatedPlatform();
    const { base, kubectl, plane } = cluster;
    stage = addClients(base, kubectl);
    admin = createClient({ server: plane.url, ca: plane.ca, auth: { kind: "token", token: plane.adminToken } });
    const space = (await api().call<Page<Named>>("GET", "/v3/spaces")).resources[0]?.guid ?? "";
    for (const name of ["kept", "deleted-later"]) await makeApp(name, space);
    await saveSnapshot(plane, snapshot);
    // As a kubelet does: a process that ended starts again.
    supervisor = setInterval(() => void stage.start().catch(() => undefined), 1_000);
  }, 300_000);
  afterAll(async () => {
    clearInterval(supervisor);
    await admin?.close();
    await stage?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  const api = (port = stage.port): Api => apiAt(`http://localhost:${port}`, tokenOf(stage, "admin"));

  const makeApp = (name: string, space: string): Promise<Named> =>
    api().call("POST", "/v3/apps", { name, relationships: { space: { data: { guid: space } } } });

  /** A new kube-apiserver needs a while until it knows the kinds of policies' parameters. */
  async function untilServing(space: string): Promise<void> {
    await eventually(async () => {
      const { guid } = await makeApp("probe", space);
      await api().call("DELETE", `/v3/apps/${guid}`);
    }, 90_000);
  }

  async function work(): Promise<void> {
    await eventually(() => api().call("GET", "/v3/spaces"), 90_000);
    const [{ guid: probed = "" } = {}] = (await api().call<Page<Named>>("GET", "/v3/spaces")).resources;
    await untilServing(probed);
    const { resources } = await api().call<Page<Named>>("GET", "/v3/apps");
    const doomed = resources.find(({ name }) => name === "deleted-later");
    const space = (await api().call<Page<Named>>("GET", "/v3/spaces")).resources[0]?.guid ?? "";
    if (doomed) await api().call("DELETE", `/v3/apps/${doomed.guid}`);
    for (let at = 0; at < 20; at++) await makeApp(`lost-${at}`, space);
    await eventually(async () => {
      const { pagination } = await api().call<Page<Named>>("GET", "/v3/apps");
      expect(pagination.total_results).toBe(21);
    });
  }

  /** Names and GUIDs at each replica are those of a live list, and the platform works. */
  async function expectCaughtUp(): Promise<void> {
    const deadline = Date.now() + CAUGHT_UP_MS;
    await eventually(async () => {
      const live = (await admin.list(App)).items.map(guidOf).sort();
      expect(live).toHaveLength(2);
      for (const port of cluster.ports) {
        const { resources } = await api(port).call<Page<Named>>("GET", "/v3/apps?per_page=5000");
        expect(resources.map(({ guid }) => guid).sort(), `replica ${port}`).toEqual(live);
        expect(resources.map(({ name }) => name).sort()).toEqual(["deleted-later", "kept"]);
      }
      expect((await admin.list(LRP)).items).toEqual([]);
    }, deadline - Date.now());
    const space = (await api().call<Page<Named>>("GET", "/v3/spaces")).resources[0]?.guid ?? "";
    await untilServing(space);
    const { guid } = await makeApp("after", space);
    for (const port of cluster.ports) expect((await api(port).send("GET", `/v3/apps/${guid}`)).status).toBe(200);
    await api().call("DELETE", `/v3/apps/${guid}`);
  }

  /** Processes that said so. A line that is under way when a process ends may come twice. */
  function endings(): number {
    const lines = readFileSync(join(stage.home, "cupola.log"), "utf8").split("\n");
    return new Set(lines.filter((line) => line.includes("went back to an earlier state"))).size;
  }

  test("with --bump-revision and --mark-compacted no process restarts", { timeout: 300_000 }, async () => {
    const pids = stage.pids();
    await work();
    await restoreSnapshot(cluster.plane, snapshot, { isBumped: true });
    await expectCaughtUp();
    expect(stage.pids()).toEqual(pids);
    expect(endings()).toBe(0);
  });

  test("without them each process notices it, and restarts once", { timeout: 300_000 }, async () => {
    await work();
    await restoreSnapshot(cluster.plane, snapshot, { isBumped: false });
    await eventually(async () => expect(endings()).toBe(3), CAUGHT_UP_MS);
    await expectCaughtUp();
    expect(endings()).toBe(3);
  });
});

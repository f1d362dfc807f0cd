// A process that is to be detached while its app is between two versions: the change comes to its end first.
import { expect, test } from "vitest";
import { App } from "../../../crds/app/app.ts";
import { LRP } from "../../../crds/lrp/lrp.ts";
import { Process } from "../../../crds/process/process.ts";
import { Rollout } from "../../../crds/rollout/rollout.ts";
import { applyApp, currentLRP, readyOf, setRunning, untilReady, type ControllerFixtures } from "./test-env.ts";
import { eventually } from "../../eventually.ts";

export function handOverTests(given: () => ControllerFixtures): void {
  test("a process that is detached during a rollout is released when the rollout is over", async () => {
    const { client, namespace } = given();
    const key = { namespace, name: "rolling" };
    const processKey = { namespace, name: "rolling.web" };
    const readyReason = async (): Promise<string | undefined> => readyOf(await client.get(Process, processKey))?.reason;
    const runningLRPs = async (): Promise<LRP[]> => {
      const { items } = await client.list(LRP, { namespace });
      const own = items.filter(({ spec, metadata }) => spec.app.name === key.name && !metadata.deletionTimestamp);
      for (const lrp of own) if (lrp.status?.runningInstances !== lrp.spec.instances) await setRunning(client, lrp);
      return own;
    };
    await applyApp(client, key, { process: { instances: 2 } });
    await setRunning(client, await eventually(() => currentLRP(client, key)));
    await untilReady(client, Process, processKey);

    await client.apply(
      Rollout,
      { metadata: key, spec: { appRef: { name: key.name }, instances: 3 } },
      { fieldManager: "kubectl" },
    );
    await eventually(async () =>
      expect(
        (await client.list(LRP, { namespace })).items.filter(({ spec }) => spec.app.name === key.name),
      ).toHaveLength(2),
    );
    await client.patch(Process, processKey, { type: "merge", body: { spec: { detached: true } } });
    await eventually(async () => expect(await readyReason()).toBe("RolloutUnderWay"));

    await eventually(async () => {
      await runningLRPs();
      expect((await client.get(Rollout, key)).status?.state).toBe("Deployed");
    });
    await eventually(async () => expect(await readyReason()).toBe("Detached"));
    expect((await runningLRPs()).map(({ spec }) => [spec.revision, spec.detached])).toEqual([["2", true]]);
    await client.delete(LRP, (await runningLRPs())[0]?.metadata ?? key);
    await client.delete(App, key);
  });

  test("a process that is detached during a restart is released with its new LRP", async () => {
    const { client, namespace } = given();
    const key = { namespace, name: "restarting" };
    const processKey = { namespace, name: "restarting.web" };
    await applyApp(client, key);
    const former = await eventually(() => currentLRP(client, key));
    await setRunning(client, former);
    await untilReady(client, Process, processKey);
    const hold = (finalizers: string[]): Promise<unknown> =>
      client.patch(LRP, former.metadata, { type: "merge", body: { metadata: { finalizers } } });
    await hold(["runner.example/instances"]);
    await client.patch(App, key, { type: "merge", body: { spec: { restart: "again" } } });
    await untilReady(client, Process, processKey, { status: "False", reason: "Stopping" });
    await client.patch(Process, processKey, { type: "merge", body: { spec: { detached: true } } });
    await untilReady(client, Process, processKey, { status: "False", reason: "Stopping" });
    await hold([]);
    const { status } = await untilReady(client, Process, processKey, { status: "True", reason: "Detached" });
    const released = await client.get(LRP, { namespace, name: status?.lrp ?? "" });
    expect([released.spec.revision, released.spec.detached]).toEqual(["2", true]);
    // Nothing is started for it once its workload is deleted.
    await client.delete(LRP, released.metadata);
    await eventually(async () => expect((await client.get(Process, processKey)).status?.lrp).toBeUndefined());
    expect(readyOf(await client.get(Process, processKey))).toMatchObject({ reason: "Detached" });
    await client.delete(App, key);
  });
}

// LRPs that cannot start: for now (Down) or ever (Crashed).
import { expect, test } from "vitest";
import { Secret } from "../../../../kube/api/builtin.ts";
import { createProbe, instanceOf, readyOf } from "../probe-lrp.ts";
import type { RunnerFixtures } from "../environment.ts";

const KINDS = ["host", "cnb", "docker"];

export function refusalRows(given: () => RunnerFixtures): void {
  test.concurrent("a droplet of a kind that the class does not take is Crashed, with the reason", async () => {
    const { env, capabilities } = given();
    const taken = (capabilities["dropletKinds"] ?? "").split(",");
    const kind = KINDS.find((other) => !taken.includes(other));
    const probe = await createProbe(env, "other-kind", {
      droplet: { guid: "other", kind, image: "registry.example/other:1", processTypes: {} },
    });
    const { details, crashCount = 0 } = await probe.inState("Crashed");
    expect(details).toMatch(new RegExp(kind ?? "none"));
    // Nothing was started, so nothing has crashed.
    expect(crashCount).toBe(0);
    expect(readyOf(await probe.get())).toMatchObject({ status: "False" });
  });

  test.concurrent("an instance whose Secret is missing is Down until the Secret is there", async () => {
    const { env } = given();
    const probe = await createProbe(env, "secret-later", {
      env: [{ name: "LATE", valueFrom: { secretKeyRef: { name: "comes-later", key: "key" } } }],
    });
    // A kubelet first says only that its cache of Secrets is not filled yet.
    await probe.until((lrp) => {
      expect(instanceOf(lrp, 0)).toMatchObject({ state: "Down", details: expect.stringMatching(/comes-later/) });
      expect(readyOf(lrp)?.message).toMatch(/comes-later/);
    });
    await env.client.create(Secret, {
      metadata: { namespace: env.namespace, name: "comes-later" },
      stringData: { key: "value" },
    });
    await probe.running();
    expect(await probe.ask(0, "/env")).toMatchObject({ LATE: "value" });
    expect(instanceOf(await probe.get(), 0).crashCount ?? 0).toBe(0);
  });
}

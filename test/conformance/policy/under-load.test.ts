// Constraints on a real kube-apiserver while other work goes on: a space whose label changes, and processes that kubectl scales.
import { execFile } from "node:child_process";
import { setTimeout as delay } from "node:timers/promises";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { App } from "../../../crds/app/app.ts";
import { Process } from "../../../crds/process/process.ts";
import { Space } from "../../../crds/space/space.ts";
import { whyNoControlPlane } from "../../cluster/binaries.ts";
import { startControlPlane, type ControlPlane } from "../../cluster/control-plane.ts";
import { eventually } from "../../eventually.ts";
import { PolicyPlatform } from "./controllers-platform.ts";
import { OWNED, OWNER } from "./operator.ts";
import { inParallel } from "./policy-world.ts";

const run = promisify(execFile);
const reason = whyNoControlPlane();
/** They make apps as fast as they can. */
const WRITERS = 4;
/** A space's label counts once the platform has mirrored it to the namespace and kube-apiserver has seen that. */
const GAP_MS = 5_000;

describe.skipIf(reason !== undefined)(`constraints under load${reason ? `: skipped, ${reason}` : ""}`, () => {
  let plane: ControlPlane;
  let platform: PolicyPlatform;
  beforeAll(async () => {
    plane = await startControlPlane();
    platform = new PolicyPlatform(plane);
    await platform.start();
    await platform.installTemplate(OWNED);
  }, 180_000);
  afterAll(() => platform?.stop());

  test("a space's label changes while apps are made: once refused, a write stays refused, and the gap is short", async () => {
    const label = (env: string | null) =>
      platform.client.patch(
        Space,
        { namespace: "acme", name: "dev" },
        { type: "merge", body: { metadata: { labels: { env } } } },
      );
    await platform.constrain({
      match: { spaceLabels: { matchLabels: { env: "production" } } },
      parameters: { label: "owner" },
    });
    await platform.untilEnforced();
    const verdicts: { at: number; allowed: boolean }[] = [];
    let isOver = false;
    const load = inParallel(Array.from({ length: WRITERS }), async (_, writer) => {
      for (let at = 0; !isOver; at++)
        await platform.client.create(App, {
          metadata: { namespace: platform.namespace, name: `load-${writer}-${at}`, labels: { owner: "ada" } },
          spec: { state: "Stopped" },
        });
    });
    const asking = inParallel(Array.from({ length: 4 }), async () => {
      while (!isOver) {
        const { allowed } = await platform.create();
        verdicts.push({ at: performance.now(), allowed });
        await delay(5);
      }
    });
    try {
      for (const [env, allowed] of [
        ["production", false],
        [null, true],
        ["production", false],
      ] as const) {
        await label(env);
        const changed = performance.now();
        await eventually(() => expect(verdicts.at(-1)?.allowed).toBe(allowed));
        // Requests that began before the change may be answered now.
        const first = verdicts.find((one) => one.at > changed && one.allowed === allowed)?.at ?? NaN;
        await delay(1_000);
        const last = verdicts.findLast((one) => one.allowed !== allowed)?.at ?? 0;
        if (process.env["TEST_LOG"])
          console.log(
            `env ${env}: ${Math.round(first - changed)} ms to the first, ${Math.round(last - changed)} ms to the last other verdict`,
          );
        expect(last - changed).toBeLessThan(GAP_MS);
      }
    } finally {
      isOver = true;
      await Promise.all([asking, load]);
    }
    await platform.release(OWNER);
  }, 120_000);

  describe("kubectl scale", () => {
    const which = { kind: "Instances", name: "limit" };
    const limit = (max: number) => platform.constrain({ parameters: { max } }, which);
    const scale = async (replicas: number): Promise<string> => {
      try {
        const { stdout } = await run(plane.kubectl, [
          ...["--kubeconfig", plane.kubeconfig, "-n", platform.namespace],
          ...["scale", "processes.cupola.dev/bare.web", `--replicas=${replicas}`],
        ]);
        return stdout;
      } catch (error) {
        return String(error);
      }
    };
    const instances = async (): Promise<number | undefined> =>
      (await platform.client.get(Process, { namespace: platform.namespace, name: "bare.web" })).spec.instances;
    const refusal =
      "Instances: kubectl scale cannot be judged by this policy; set spec.instances instead (policy limit)";

    beforeAll(async () => {
      await platform.installTemplate({
        kind: "Instances",
        title: "Instances",
        subjects: ["Process"],
        parameters: { schema: { type: "object", required: ["max"], properties: { max: { type: "integer" } } } },
        rules: [
          {
            expression: "!has(object.spec.instances) || object.spec.instances <= variables.params.max",
            message: "too many",
          },
        ],
        scale: "object.spec.replicas <= variables.params.max",
      } as never);
      await eventually(instances);
    });

    test("is held by the template's rule for it, and a change of the constraint counts", async () => {
      await limit(3);
      await platform.untilEnforced(which);
      await eventually(async () => expect(await scale(4)).toContain(refusal));
      expect(await scale(3)).toContain("scaled");
      expect(await instances()).toBe(3);
      await limit(5);
      await eventually(async () => expect(await scale(5)).toContain("scaled"));
      expect(await instances()).toBe(5);
      await limit(3);
      await platform.untilEnforced(which);
      await eventually(async () => expect(await scale(4)).toContain(refusal));
      expect(await scale(2)).toContain("scaled");
      expect(await instances()).toBe(2);
    });

    test("passes again when the constraint is deleted", async () => {
      await limit(1);
      await eventually(async () => expect(await scale(9)).toContain(refusal));
      await platform.release(which);
      await eventually(async () => expect(await scale(9)).toContain("scaled"));
    });
  });
});

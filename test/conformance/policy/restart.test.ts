// kube-apiserver is killed and comes back beside 200 constraints: it refuses nothing that they allow, and lets nothing pass that they refuse.
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { App } from "../../../crds/app/app.ts";
import { anApp } from "../../../crds/testing/objects.ts";
import { ValidatingAdmissionPolicy, ValidatingAdmissionPolicyBinding } from "../../../kube/api/builtin.ts";
import { resourcePath, type ResourceRef } from "../../../kube/api/resource-ref.ts";
import { whyNoControlPlane } from "../../cluster/binaries.ts";
import { startControlPlane, type ControlPlane } from "../../cluster/control-plane.ts";
import { eventually } from "../../eventually.ts";
import { PolicyPlatform } from "./controllers-platform.ts";
import { OWNED, refOf } from "./operator.ts";
import { inParallel } from "./policy-world.ts";

const CONSTRAINTS = 200;
/** Those of the judged space. */
const MATCHING = 20;
/** Answers of each sort after a restart. */
const ENOUGH = 20;
const LABELS = { owner: "ada" };

const reason = whyNoControlPlane();

describe.skipIf(reason !== undefined)(
  `a restart beside ${CONSTRAINTS} constraints${reason ? `: skipped, ${reason}` : ""}`,
  () => {
    let plane: ControlPlane;
    let platform: PolicyPlatform;

    beforeAll(async () => {
      plane = await startControlPlane();
      platform = new PolicyPlatform(plane);
      await platform.start();
      await platform.installTemplate(OWNED);
      const numbers = Array.from({ length: CONSTRAINTS }, (_, at) => at);
      await inParallel(numbers, (at) =>
        platform.constrain(
          {
            match: { spaces: [at < MATCHING ? "acme/dev" : `org-${at}/*`] },
            parameters: { label: "owner" },
          },
          { kind: "Owned", name: `owner-${at}` },
        ),
      );
      await eventually(async () => expect(await countEnforced()).toBe(CONSTRAINTS), 120_000);
      await eventually(async () => expect((await platform.create()).allowed).toBe(false));
    }, 300_000);
    afterAll(() => platform?.stop());

    const countEnforced = async (): Promise<number> => {
      const { items } = await platform.client.list(refOf("Owned"));
      return items.filter(({ status }) => status?.enforced === true).length;
    };
    /** Kind, name and version of all that belongs to the constraints. */
    const listVersions = async (): Promise<string[]> => {
      const refs = [refOf("Owned"), ValidatingAdmissionPolicy, ValidatingAdmissionPolicyBinding] as ResourceRef[];
      const lists = await Promise.all(refs.map((ref) => platform.client.list(ref)));
      return lists
        .flatMap(({ items }, at) =>
          items.map(({ metadata }) => `${refs[at]?.kind} ${metadata.name} ${metadata.resourceVersion}`),
        )
        .sort();
    };

    /** Writes of one sort, by dry run, from before the restart until long after it. */
    class Writer {
      readonly faults: string[] = [];
      /** Verdicts of policy, the last that came. */
      verdicts = 0;
      #isStopped = false;
      readonly #ended: Promise<void>;

      constructor(labels: Record<string, string>, allowed: boolean) {
        const app = anApp({ state: "Stopped" }, { metadata: { namespace: platform.namespace, labels } });
        this.#ended = this.#run(app, allowed);
      }

      async stop(): Promise<string[]> {
        this.#isStopped = true;
        await this.#ended;
        return this.faults;
      }

      async #run(app: object, allowed: boolean): Promise<void> {
        const path = `${resourcePath(App, { namespace: platform.namespace })}?dryRun=All`;
        while (!this.#isStopped) {
          const answer = await platform.api.post(path, app).catch(() => undefined);
          const isVerdict =
            answer !== undefined && (answer.status === 201 || answer.text.includes("ValidatingAdmissionPolicy"));
          if (isVerdict && (answer.status === 201) !== allowed)
            this.faults.push(`${answer.status} ${answer.text.slice(0, 300)}`);
          else if (isVerdict) this.verdicts++;
          await delay(10);
        }
      }
    }

    const restart = async (): Promise<void> => {
      const writers = [new Writer(LABELS, true), new Writer({}, false)];
      try {
        await plane.restart("kube-apiserver");
        for (const one of writers) one.verdicts = 0;
        await eventually(() => {
          for (const one of writers) expect(one.verdicts).toBeGreaterThan(ENOUGH);
        }, 60_000);
      } finally {
        await Promise.all(writers.map((one) => one.stop()));
      }
      expect(writers.map(({ faults }) => faults)).toEqual([[], []]);
    };

    test("with the controllers, which then write nothing", async () => {
      await platform.untilQuiet();
      const before = await listVersions();
      await restart();
      await platform.untilQuiet();
      expect(await listVersions()).toEqual(before);
    }, 180_000);

    test("while no process of Cupola runs", async () => {
      await platform.stopControllers();
      try {
        await restart();
      } finally {
        await platform.startControllers();
      }
    }, 180_000);

    test("a constraint that changes just before is in force when its status says so", async () => {
      const which = { kind: "Owned", name: "owner-0" };
      const match = { spaces: ["acme/dev"] };
      await platform.constrain({ match, parameters: { label: "team" } }, which);
      await plane.restart("kube-apiserver");
      await platform.untilEnforced(which);
      await eventually(async () =>
        expect((await platform.create(LABELS)).sentences.join()).toContain("the label team"),
      );
      await platform.constrain({ match, parameters: { label: "owner" } }, which);
      await eventually(async () => expect((await platform.create(LABELS)).allowed).toBe(true));
    }, 180_000);
  },
);

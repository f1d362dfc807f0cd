// `cf` for the flags of deployments that deployments.cases.ts has not: restart, restage, rollback and copy-source.
import { expect } from "vitest";
import { eventually } from "../../eventually.ts";
import { twoInstances } from "./deployments.cases.ts";
import { twoRevisions } from "./revisions.cases.ts";
import { answers, makeApp, ofApp } from "./support/apps.ts";
import type { CaseRun, CommandCases } from "./support/case.ts";
import { DEPLOYED, deploymentsOf, PAUSED, untilDeployment } from "./support/deployments.ts";
import { makeSpace, read, type Shown } from "./support/objects.ts";
import { writeServer } from "./support/sources.ts";

const STEPS = "--strategy canary --instance-steps 50,100";
const STEPPED = { ...PAUSED, options: { canary: { steps: [{ instance_weight: 50 }, { instance_weight: 100 }] } } };

async function pushed(run: CaseRun): Promise<void> {
  writeServer(run);
  await run.cf("developer", "push", run.name, "-i", "2");
}

/** An app `{name}-from` with another source, and one that runs. */
async function twoSources(run: CaseRun): Promise<void> {
  writeServer(run, "copied");
  await run.cf("developer", "push", `${run.name}-from`, "--no-start");
  await makeApp(run);
}

const isCopied = (run: CaseRun): Promise<void> =>
  eventually(async () => expect(await answers(run, 200)).toContain("copied"), 60_000);

export const STRATEGY_CASES: readonly CommandCases[] = [
  {
    command: "restart",
    cases: [
      {
        name: "--strategy canary --instance-steps",
        given: twoInstances,
        run: `restart {name} ${STEPS}`,
        shows: [/canary-steps:\s+1\/2/],
        effect: (run) => untilDeployment(run, STEPPED),
      },
    ],
  },
  {
    command: "restage",
    cases: [
      {
        name: "--strategy canary --instance-steps",
        given: pushed,
        run: `restage {name} ${STEPS}`,
        shows: [/canary-steps:\s+1\/2/],
        effect: (run) => untilDeployment(run, STEPPED),
      },
      {
        name: "--strategy rolling --max-in-flight --no-wait",
        given: pushed,
        run: "restage {name} --strategy rolling --max-in-flight 2 --no-wait",
        effect: async (run) => {
          await untilDeployment(run, { ...DEPLOYED, options: { max_in_flight: 2 } });
          expect((await ofApp(run, "droplets")).resources).toHaveLength(2);
        },
      },
    ],
  },
  {
    command: "rollback",
    cases: [
      {
        name: "--strategy canary --instance-steps",
        given: twoRevisions,
        run: `rollback {name} --version 1 -f ${STEPS}`,
        effect: (run) => untilDeployment(run, STEPPED),
      },
    ],
  },
  {
    command: "copy-source",
    cases: [
      {
        name: "--strategy rolling --max-in-flight",
        given: twoSources,
        run: "copy-source {name}-from {name} --strategy rolling --max-in-flight 2",
        shows: ["Staging app {name}", "Waiting for app to deploy..."],
        effect: async (run) => {
          await untilDeployment(run, { ...DEPLOYED, options: { max_in_flight: 2 } });
          await isCopied(run);
        },
      },
      {
        name: "--strategy rolling --no-wait",
        given: twoSources,
        run: "copy-source {name}-from {name} --strategy rolling --no-wait",
        effect: async (run) => {
          await untilDeployment(run, DEPLOYED);
          await isCopied(run);
        },
      },
      {
        name: "--strategy canary --instance-steps",
        given: twoSources,
        run: `copy-source {name}-from {name} ${STEPS}`,
        effect: (run) => untilDeployment(run, STEPPED),
      },
      {
        name: "--max-in-flight without a strategy",
        given: async (run) => {
          await makeApp(run, { is: "empty" });
          await makeApp(run, { name: `${run.name}-from`, is: "empty" });
        },
        run: "copy-source {name}-from {name} --max-in-flight 2",
        refused: ["--strategy"],
        effect: async (run) => expect(await deploymentsOf(run)).toEqual([]),
      },
      {
        name: "-s -o, to an app of another space",
        as: "admin",
        given: async (run) => {
          writeServer(run, "copied");
          await run.cf("developer", "push", `${run.name}-from`, "--no-start");
          const space = await makeSpace(run);
          const relationships = { space: { data: { guid: space.guid } } };
          const there = await run.ground.api.admin.call("POST", "/v3/apps", {
            name: `${run.name}-there`,
            relationships,
          });
          run.values["there"] = there.guid;
        },
        run: "copy-source {name}-from {name}-there -s {name} -o {org} --no-restart",
        shows: ["Copying source from app {name}-from to target app {name}-there in org {org} / space {name} as", "OK"],
        effect: async (run) => {
          const packages = await read<{ resources: Shown[] }>(run, `/v3/apps/${run.values["there"]}/packages`);
          expect(packages.resources).toMatchObject([{ state: "READY" }]);
        },
      },
    ],
  },
];

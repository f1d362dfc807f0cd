// `cf` for deployments and revisions: --strategy of push, restart, restage, copy-source and rollback, continue, cancel.
import { expect } from "vitest";
import { eventually } from "../../eventually.ts";
import { answers, findApp, makeApp, ofApp, untilRunning } from "./support/apps.ts";
import type { CaseRun, CommandCases } from "./support/case.ts";
import { DEPLOYED, PAUSED, untilDeployment } from "./support/deployments.ts";
import { noSuchApp } from "./support/refusals.ts";
import { writeServer } from "./support/sources.ts";

/** A running app with two instances. */
export async function twoInstances(run: CaseRun): Promise<void> {
  const guid = await makeApp(run);
  await run.cf("developer", "scale", run.name, "-i", "2");
  await untilRunning(run.ground, guid);
}

/** A running app with a canary that waits. */
async function pausedCanary(run: CaseRun): Promise<void> {
  await twoInstances(run);
  await run.cf("developer", "restart", run.name, "--strategy", "canary", "--instance-steps", "50,100");
  await untilDeployment(run, PAUSED);
}

export const DEPLOYMENT_CASES: readonly CommandCases[] = [
  {
    command: "push",
    cases: [
      {
        name: "--strategy rolling",
        given: async (run) => {
          await twoInstances(run);
          writeServer(run, "rolled");
        },
        run: "push {name} --strategy rolling --max-in-flight 2",
        shows: ["Starting deployment for app {name}...", "Waiting for app to deploy...", /instances:\s+\d\/2/],
        effect: async (run) => {
          // As in CF, the old instances end once the deployment is over.
          await eventually(async () => expect(await answers(run, 200)).toContain("rolled"));
          await untilDeployment(run, { ...DEPLOYED, strategy: "rolling", options: { max_in_flight: 2 } });
        },
      },
      {
        name: "--strategy rolling of a new app",
        given: (run) => Promise.resolve(writeServer(run, "first")),
        run: "push {name} --strategy rolling",
        effect: async (run) => expect(await answers(run, 200)).toContain("first"),
      },
      {
        name: "--strategy canary",
        given: async (run) => {
          await twoInstances(run);
          writeServer(run, "canary");
        },
        run: "push {name} --strategy canary",
        shows: [
          /Active deployment with status PAUSED/,
          "Please run `cf continue-deployment {name}` to promote the canary deployment, or `cf cancel-deployment {name}` to rollback to the previous version.",
        ],
        effect: (run) => untilDeployment(run, { ...PAUSED, strategy: "canary" }),
      },
      {
        name: "--strategy canary --instance-steps",
        given: async (run) => {
          await twoInstances(run);
          writeServer(run, "canary");
        },
        run: "push {name} --strategy canary --instance-steps 50,100",
        shows: [/canary-steps:\s+1\/2/],
        effect: (run) =>
          untilDeployment(run, { options: { canary: { steps: [{ instance_weight: 50 }, { instance_weight: 100 }] } } }),
      },
      {
        name: "--strategy rolling --no-wait",
        given: async (run) => {
          await twoInstances(run);
          writeServer(run, "soon");
        },
        run: "push {name} --strategy rolling --no-wait",
        effect: (run) => untilDeployment(run, DEPLOYED),
      },
      {
        name: "--strategy with a name that is none",
        run: "push {name} --strategy sideways",
        refused: [/STRATEGY must be/i],
      },
    ],
  },
  {
    command: "restart",
    cases: [
      {
        name: "--strategy rolling",
        given: twoInstances,
        run: "restart {name} --strategy rolling",
        shows: ["Creating deployment for app {name}...", "Waiting for app to deploy..."],
        effect: (run) => untilDeployment(run, DEPLOYED),
      },
      {
        name: "--strategy rolling --no-wait",
        given: twoInstances,
        run: "restart {name} --strategy rolling --no-wait",
        shows: ["First instance restaged correctly, restaging remaining in the background"],
        effect: (run) => untilDeployment(run, DEPLOYED),
      },
      {
        name: "--strategy canary --max-in-flight",
        given: twoInstances,
        run: "restart {name} --strategy canary --max-in-flight 3",
        effect: (run) => untilDeployment(run, { ...PAUSED, options: { max_in_flight: 3 } }),
      },
      {
        name: "--max-in-flight without a strategy",
        given: (run) => makeApp(run, { is: "stopped" }),
        run: "restart {name} --max-in-flight 3",
        refused: ["--strategy"],
      },
    ],
  },
  {
    command: "restage",
    cases: [
      {
        name: "--strategy rolling",
        given: async (run) => {
          writeServer(run);
          await run.cf("developer", "push", run.name, "-i", "2");
        },
        run: "restage {name} --strategy rolling",
        shows: ["Restaging app {name}", "Staging app and tracing logs...", "Waiting for app to deploy..."],
        effect: async (run) => {
          await untilDeployment(run, DEPLOYED);
          expect((await ofApp(run, "droplets")).resources).toHaveLength(2);
        },
      },
    ],
  },
  {
    command: "app",
    cases: [
      {
        name: "an app with a deployment under way",
        given: pausedCanary,
        run: "app {name}",
        shows: [
          /Active deployment with status PAUSED \(since /,
          /strategy:\s+canary/,
          /max-in-flight:\s+1/,
          /canary-steps:\s+1\/2/,
        ],
        effect: (run) => untilDeployment(run, PAUSED),
      },
    ],
  },
  {
    command: "continue-deployment",
    cases: [
      {
        name: "a canary, to its next step",
        given: pausedCanary,
        run: "continue-deployment {name}",
        shows: ["Continuing deployment for app {name} in org {org} / space {space} as"],
        effect: (run) => untilDeployment(run, { status: { canary: { steps: { current: 2, total: 2 } } } }),
      },
      {
        name: "--no-wait",
        given: pausedCanary,
        run: "continue-deployment {name} --no-wait",
        effect: (run) => untilDeployment(run, { status: { canary: { steps: { current: 2, total: 2 } } } }),
      },
      {
        name: "an app without a deployment",
        given: (run) => makeApp(run, { is: "stopped" }),
        run: "continue-deployment {name}",
        refused: ["No active deployment found for app."],
      },
      noSuchApp("continue-deployment"),
    ],
  },
  {
    command: "cancel-deployment",
    cases: [
      {
        name: "a canary",
        given: pausedCanary,
        run: "cancel-deployment {name}",
        shows: ["Canceling deployment for app {name} in org {org} / space {space} as", "OK"],
        effect: (run) => untilDeployment(run, { status: { value: "FINALIZED", reason: "CANCELED" } }),
      },
      {
        name: "an app without a deployment",
        given: (run) => makeApp(run, { is: "stopped" }),
        run: "cancel-deployment {name}",
        refused: ["No active deployment found for app."],
      },
      {
        name: "by a supporter",
        as: "supporter",
        given: pausedCanary,
        run: "cancel-deployment {name}",
        shows: ["OK"],
        effect: (run) => untilDeployment(run, { status: { value: "FINALIZED", reason: "CANCELED" } }),
      },
      noSuchApp("cancel-deployment"),
    ],
  },
  {
    command: "scale",
    cases: [
      {
        name: "while a deployment is under way",
        given: pausedCanary,
        run: "scale {name} -i 5",
        refused: ["Cannot scale this process while a deployment is in flight."],
        effect: (run) => untilDeployment(run, PAUSED),
      },
    ],
  },
  {
    command: "set-droplet",
    cases: [
      {
        name: "while a deployment is under way",
        given: async (run) => {
          await pausedCanary(run);
          run.values["droplet"] = (await ofApp<{ guid: string }>(run, "droplets/current")).guid;
        },
        run: "set-droplet {name} {droplet}",
        refused: ["Unable to assign current droplet while the app has a deployment in progress."],
        effect: (run) => untilDeployment(run, PAUSED),
      },
    ],
  },
  {
    command: "stop",
    cases: [
      {
        name: "while a deployment is under way, which ends it",
        given: pausedCanary,
        run: "stop {name}",
        effect: async (run) => {
          await answers(run, 404);
          await eventually(async () => expect(await run.cf("developer", "app", run.name)).toMatch(/instances:\s+0\/2/));
        },
      },
    ],
  },
  {
    command: "delete",
    cases: [
      {
        name: "while a deployment is under way",
        given: pausedCanary,
        run: "delete {name} -f -r",
        effect: async (run) => {
          await answers(run, 404);
          expect(await findApp(run.ground, run.name)).toBeUndefined();
        },
      },
    ],
  },
];

// `cf` for deployments and revisions: --strategy of push, restart, restage, copy-source and rollback, continue, cancel.
import { expect } from "vitest";
import { eventually } from "../../eventually.ts";
import type { Page } from "../support/api.ts";
import { answers, findApp, makeApp, ofApp, untilRunning } from "./support/apps.ts";
import type { CaseRun, CommandCases } from "./support/case.ts";
import { forbidden, noSuchApp } from "./support/refusals.ts";
import { writeServer } from "./support/sources.ts";

const DEPLOY_MS = 90_000;

interface Deployment {
  guid: string;
  status: { value: string; reason: string; canary?: { steps: { current: number; total: number } } };
  strategy: string;
  options: Record<string, unknown>;
}

interface Revision {
  guid: string;
  version: number;
  description: string;
}

async function deploymentsOf(run: CaseRun): Promise<Deployment[]> {
  const path = `/v3/deployments?app_guids=${(await findApp(run.ground, run.name))?.guid}&order_by=-created_at`;
  return (await run.ground.api.admin.call<Page<Deployment>>("GET", path)).resources;
}

/** The newest deployment, once it has that status. */
async function untilDeployment(run: CaseRun, wanted: object): Promise<void> {
  await eventually(async () => expect((await deploymentsOf(run))[0]).toMatchObject(wanted), DEPLOY_MS);
}

const DEPLOYED = { status: { value: "FINALIZED", reason: "DEPLOYED" } };
const PAUSED = { status: { value: "ACTIVE", reason: "PAUSED" } };

async function revisionsOf(run: CaseRun): Promise<Revision[]> {
  return (await ofApp<Page<Revision>>(run, "revisions?order_by=-created_at")).resources;
}

/** A running app with two instances. */
async function twoInstances(run: CaseRun): Promise<void> {
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

/** A running app with two revisions, which differ in a variable. */
async function twoRevisions(run: CaseRun): Promise<void> {
  await makeApp(run);
  await run.cf("developer", "set-env", run.name, "GREETING", "Second");
  await run.cf("developer", "restart", run.name);
  await eventually(async () => expect(await answers(run, 200)).toContain("Second"), DEPLOY_MS);
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
          expect(await answers(run, 200)).toContain("rolled");
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
    command: "revisions",
    cases: [
      {
        name: "two revisions",
        given: twoRevisions,
        run: "revisions {name}",
        shows: [
          /revision\s+description\s+deployable\s+revision guid\s+created at/,
          /2\(deployed\)\s+New environment variables deployed\.\s+true/,
          /1\s+Initial revision\.\s+true/,
        ],
        effect: async (run, output) => {
          for (const { guid } of await revisionsOf(run)) expect(output).toContain(guid);
        },
      },
      {
        name: "an app that was never started",
        given: (run) => makeApp(run, { is: "empty" }),
        run: "revisions {name}",
        shows: ["No revisions found"],
        effect: async (run) => expect(await revisionsOf(run)).toEqual([]),
      },
      {
        name: "an app whose revisions are off",
        given: async (run) => {
          await makeApp(run, { is: "stopped" });
          await run.ground.api.admin.call("PATCH", `/v3/apps/${run.values["app"]}/features/revisions`, {
            enabled: false,
          });
        },
        run: "revisions {name}",
        shows: ["Warning: Revisions for app '{name}' are disabled. Updates to the app will not create new revisions."],
        effect: async (run) => expect(await revisionsOf(run)).toEqual([]),
      },
      noSuchApp("revisions"),
    ],
  },
  {
    command: "revision",
    cases: [
      {
        name: "--version",
        given: twoRevisions,
        run: "revision {name} --version 2",
        shows: [
          /revision:\s+2/,
          /deployed:\s+true/,
          /description:\s+New environment variables deployed\./,
          /deployable:\s+true/,
          /GREETING:\s+Second/,
        ],
        effect: async (run, output) => expect(output).toContain((await revisionsOf(run))[0]?.guid),
      },
      {
        name: "the deployed one",
        given: twoRevisions,
        run: "revision {name}",
        shows: [/revision:\s+2/],
        effect: async (run, output) => expect(output).toContain((await revisionsOf(run))[0]?.guid),
      },
      {
        name: "a version that does not exist",
        given: (run) => makeApp(run),
        run: "revision {name} --version 99",
        refused: ["Revision '99' not found"],
      },
      noSuchApp("revision", "--version 1"),
    ],
  },
  {
    command: "rollback",
    cases: [
      {
        name: "-f --version",
        given: twoRevisions,
        run: "rollback {name} --version 1 -f",
        shows: ["Rolling back to revision 1 for app {name} in org {org} / space {space} as"],
        effect: async (run) => {
          await untilDeployment(run, DEPLOYED);
          await eventually(async () => expect(await answers(run, 200)).not.toContain("Second"), DEPLOY_MS);
          expect((await revisionsOf(run))[0]).toMatchObject({ version: 3 });
        },
      },
      {
        name: "with a person who says no",
        given: twoRevisions,
        run: "rollback {name} --version 1",
        input: "n\n",
        shows: [
          "Rolling '{name}' back to revision '1' will create a new revision. The new revision will use the settings from revision '1'.",
          "App '{name}' has not been rolled back to revision '1'.",
        ],
        effect: async (run) => expect(await deploymentsOf(run)).toEqual([]),
      },
      {
        name: "--strategy canary --max-in-flight",
        given: twoRevisions,
        run: "rollback {name} --version 1 -f --strategy canary --max-in-flight 2",
        effect: (run) => untilDeployment(run, { ...PAUSED, strategy: "canary" }),
      },
      {
        name: "to the deployed revision",
        given: (run) => makeApp(run),
        run: "rollback {name} --version 1 -f",
        refused: [
          "Unable to rollback. The code and configuration you are rolling back to is the same as the deployed revision.",
        ],
      },
      {
        name: "to a revision that does not exist",
        given: (run) => makeApp(run),
        run: "rollback {name} --version 99 -f",
        refused: ["Revision '99' not found"],
      },
      {
        name: "by a supporter",
        as: "supporter",
        given: twoRevisions,
        run: "rollback {name} --version 1 -f",
        effect: (run) => untilDeployment(run, DEPLOYED),
      },
      forbidden("auditor", "rollback {name} --version 1 -f", twoRevisions),
      noSuchApp("rollback", "--version 1 -f"),
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

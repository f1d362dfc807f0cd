// `cf` for revisions: revisions, revision, rollback.
import { expect } from "vitest";
import { eventually } from "../../eventually.ts";
import type { Page } from "../support/api.ts";
import { answers, makeApp, ofApp } from "./support/apps.ts";
import type { CaseRun, CommandCases } from "./support/case.ts";
import { DEPLOY_MS, DEPLOYED, deploymentsOf, PAUSED, untilDeployment } from "./support/deployments.ts";
import { forbidden, noSuchApp } from "./support/refusals.ts";

interface Revision {
  guid: string;
  version: number;
  description: string;
}

async function revisionsOf(run: CaseRun): Promise<Revision[]> {
  return (await ofApp<Page<Revision>>(run, "revisions?order_by=-created_at")).resources;
}

/** A running app with two revisions, which differ in a variable. */
export async function twoRevisions(run: CaseRun): Promise<void> {
  await makeApp(run);
  await run.cf("developer", "set-env", run.name, "GREETING", "Second");
  await run.cf("developer", "restart", run.name);
  await eventually(async () => expect(await answers(run, 200)).toContain("Second"), DEPLOY_MS);
}

export const REVISION_CASES: readonly CommandCases[] = [
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
      {
        ...forbidden("auditor", "rollback {name} --version 1 -f", twoRevisions),
        refused: ["Unable to use app. Ensure that the app exists and you have access to it."],
        effect: async (run) => expect(await deploymentsOf(run)).toEqual([]),
      },
      noSuchApp("rollback", "--version 1 -f"),
    ],
  },
];

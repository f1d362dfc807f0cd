// `cf` for the life of an app: apps, app, start, stop, restart, rename, delete.
import { expect } from "vitest";
import { eventually } from "../../eventually.ts";
import { findApp, makeApp, statesOf, untilRunning } from "./support/apps.ts";
import type { CaseRun, CommandCases } from "./support/case.ts";
import { forbidden, noSuchApp } from "./support/refusals.ts";

const running = (run: CaseRun) => makeApp(run);
const stopped = (run: CaseRun) => makeApp(run, { is: "stopped" });

async function expectState(run: CaseRun, state: string): Promise<void> {
  expect(await findApp(run.ground, run.name)).toMatchObject({ state });
}

async function answers(run: CaseRun, status: number): Promise<void> {
  await eventually(async () => expect((await run.ground.stage.get(`${run.name}.apps.localhost`)).status).toBe(status));
}

export const APP_CASES: readonly CommandCases[] = [
  {
    command: "start",
    cases: [
      {
        name: "a stopped app",
        given: stopped,
        run: "start {name}",
        shows: ["Starting app {name} in org {org} / space {space} as", /name:\s+start-1/, /#0\s+running/],
        effect: (run) => answers(run, 200),
      },
      {
        name: "an app that is started already",
        given: running,
        run: "start {name}",
        shows: ["App '{name}' is already started.", "OK"],
        effect: (run) => answers(run, 200),
      },
      {
        name: "an app without a droplet",
        given: (run) => makeApp(run, { is: "empty" }),
        run: "start {name}",
        refused: [/droplet/i],
        effect: (run) => expectState(run, "STOPPED"),
      },
      {
        name: "by an auditor",
        as: "auditor",
        given: stopped,
        run: "start {name}",
        refused: ["You are not authorized"],
        effect: (run) => expectState(run, "STOPPED"),
      },
      {
        name: "by a supporter",
        as: "supporter",
        given: stopped,
        run: "start {name}",
        effect: (run) => answers(run, 200),
      },
      noSuchApp("start"),
    ],
  },
  {
    command: "stop",
    cases: [
      {
        name: "a started app",
        given: running,
        run: "stop {name}",
        shows: ["Stopping app {name} in org {org} / space {space} as", "OK"],
        effect: (run) => answers(run, 404),
      },
      {
        name: "an app that is stopped already",
        given: stopped,
        run: "stop {name}",
        shows: ["App '{name}' is already stopped.", "OK"],
        effect: (run) => expectState(run, "STOPPED"),
      },
      {
        name: "by an auditor",
        as: "auditor",
        given: running,
        run: "stop {name}",
        refused: ["You are not authorized"],
        effect: (run) => expectState(run, "STARTED"),
      },
      noSuchApp("stop"),
    ],
  },
  {
    command: "app",
    cases: [
      {
        name: "a running app",
        given: running,
        run: "app {name}",
        shows: [/requested state:\s+started/, /routes:\s+app-1\.apps\.localhost/, /instances:\s+1\/1/, /#0\s+running/],
        effect: async (run) => expect(await statesOf(run.ground, run.values["app"] ?? "")).toEqual(["RUNNING"]),
      },
      {
        name: "--guid",
        given: stopped,
        run: "app {name} --guid",
        effect: async (run, output) => expect(output.trim()).toBe((await findApp(run.ground, run.name))?.guid),
      },
      noSuchApp("app"),
    ],
  },
  {
    command: "restart",
    cases: [
      {
        name: "a running app",
        given: running,
        run: "restart {name}",
        shows: ["Restarting app {name}", "Stopping app...", /#0\s+running/],
        effect: (run) => untilRunning(run.ground, run.values["app"] ?? ""),
      },
      forbidden("auditor", "restart {name}"),
      noSuchApp("restart"),
    ],
  },
];

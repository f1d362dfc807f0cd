// `cf` for what happened: logs, events; and curl.
import { readFileSync, writeFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { expect } from "vitest";
import { eventually } from "../../eventually.ts";
import { findApp, makeApp } from "./support/apps.ts";
import type { CaseRun, CommandCases } from "./support/case.ts";
import { noSuchApp } from "./support/refusals.ts";
import { writeFiles } from "./support/sources.ts";

const running = (run: CaseRun): Promise<string> => makeApp(run);
const empty = (run: CaseRun): Promise<string> => makeApp(run, { is: "empty" });

/** An ingress controller writes none into apps' logs. */
const NO_ROUTER_LINES = "an ingress controller writes no lines into apps' logs";
const TALKING = "setInterval(() => console.log(`it is now ${Date.now()}`), 500)\n";

async function ask(run: CaseRun, path: string): Promise<void> {
  expect((await run.ground.stage.get(`${run.name}.apps.localhost`, path)).status).toBe(200);
}

export const LOG_CASES: readonly CommandCases[] = [
  {
    command: "logs",
    cases: [
      {
        name: "--recent",
        given: async (run) => {
          await running(run);
          await eventually(async () =>
            expect(await run.cf("developer", "logs", run.name, "--recent")).toContain("hello listens on port"),
          );
        },
        run: "logs {name} --recent",
        shows: [
          "Retrieving logs for app {name} in org {org} / space {space} as",
          /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d\d.\d{4} \[APP\/PROC\/WEB\/0\] OUT hello listens on port/,
        ],
        effect: async (run) => expect(await findApp(run.ground, run.name)).toMatchObject({ state: "STARTED" }),
      },
      {
        name: "--recent, with requests",
        laptopOnly: NO_ROUTER_LINES,
        given: async (run) => {
          await running(run);
          await ask(run, "/in-the-log");
          await eventually(async () =>
            expect(await run.cf("developer", "logs", run.name, "--recent")).toContain("/in-the-log"),
          );
        },
        run: "logs {name} --recent",
        shows: [
          "Retrieving logs for app {name} in org {org} / space {space} as",
          /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d\d.\d{4} \[RTR\/0\] OUT .*\/in-the-log/,
        ],
        effect: async (run) => expect(await findApp(run.ground, run.name)).toMatchObject({ state: "STARTED" }),
      },
      {
        name: "of now on, until somebody ends it",
        given: async (run) => {
          writeFiles(run, { "package.json": "{}", "talk.js": TALKING });
          await run.cf("developer", "push", run.name, "-c", "node talk.js", "-u", "process", "--no-route");
        },
        run: "logs {name}",
        until: /\[APP\/PROC\/WEB\/0\] OUT it is now \d+/,
        effect: async (run) => expect(await findApp(run.ground, run.name)).toMatchObject({ state: "STARTED" }),
      },
      {
        name: "of now on, with requests",
        laptopOnly: NO_ROUTER_LINES,
        given: running,
        run: "logs {name}",
        meanwhile: async (run) => {
          await ask(run, "/while-it-tails");
          await delay(200);
        },
        until: "/while-it-tails",
        effect: async (run) => expect(await findApp(run.ground, run.name)).toMatchObject({ state: "STARTED" }),
      },
      noSuchApp("logs", "--recent"),
    ],
  },
  {
    command: "events",
    cases: [
      {
        name: "an app that was made, started and stopped",
        given: async (run) => {
          await running(run);
          await run.cf("developer", "stop", run.name);
          // Events are written once a second.
          await eventually(async () =>
            expect(await run.cf("developer", "events", run.name)).toContain("audit.app.stop"),
          );
        },
        run: "events {name}",
        shows: [
          "Getting events for app {name} in org {org} / space {space} as",
          /time\s+event\s+actor\s+description/,
          /audit\.app\.stop\s+system:serviceaccount:default:developer/,
          /audit\.app\.start\s+admin/,
          /audit\.app\.create\s+admin/,
        ],
        effect: async (run) => expect(await findApp(run.ground, run.name)).toMatchObject({ state: "STOPPED" }),
      },
      noSuchApp("events"),
    ],
  },
  {
    command: "curl",
    cases: [
      {
        name: "a path",
        given: empty,
        run: "curl /v3/apps?names={name}",
        effect: async (run, output) =>
          expect(JSON.parse(output)).toMatchObject({
            resources: [{ guid: (await findApp(run.ground, run.name))?.guid }],
          }),
      },
      {
        name: "-X, -d, -H",
        given: empty,
        run: [
          "curl",
          "/v3/apps/{app}",
          "-X",
          "PATCH",
          "-H",
          "Content-Type: application/json",
          "-d",
          '{"name":"{name}-curled"}',
        ],
        effect: async (run) => expect(await findApp(run.ground, `${run.name}-curled`)).toBeDefined(),
      },
      {
        name: "-d @file, -i",
        given: (run) =>
          Promise.resolve(
            writeFileSync(
              `${run.folder}/body.json`,
              JSON.stringify({ name: run.name, relationships: { space: { data: { guid: run.ground.spaceGUID } } } }),
            ),
          ),
        run: "curl /v3/apps -i -d @{folder}/body.json",
        shows: [/HTTP\/1\.1 201 Created/, /X-Vcap-Request-Id: /i],
        effect: async (run) => expect(await findApp(run.ground, run.name)).toBeDefined(),
      },
      {
        name: "--output",
        run: "curl / --output root.json",
        effect: (run) =>
          Promise.resolve(
            expect(JSON.parse(readFileSync(`${run.folder}/root.json`, "utf8"))).toHaveProperty(
              "links.cloud_controller_v3",
            ),
          ),
      },
      {
        name: "--fail",
        run: "curl /v3/apps/nothing --fail",
        code: 22,
        refused: [/404/],
      },
      {
        name: "a path that does not exist, without --fail",
        run: "curl /v3/nothing",
        effect: (_, output) =>
          Promise.resolve(
            expect(JSON.parse(output)).toMatchObject({ errors: [{ title: "CF-NotFound", code: 10_000 }] }),
          ),
      },
    ],
  },
];

// `cf` for the life of an app: create-app, apps, app, start, stop, restart, restart-app-instance, scale, rename, delete.
import { readFileSync } from "node:fs";
import { expect } from "vitest";
import { parse } from "yaml";
import { answers, expectState, findApp, makeApp, ofApp, statesOf, untilRunning } from "./support/apps.ts";
import type { CaseRun, CommandCases } from "./support/case.ts";
import { forbidden, noSuchApp } from "./support/refusals.ts";

const running = (run: CaseRun) => makeApp(run);
const empty = (run: CaseRun) => makeApp(run, { is: "empty" });
const stopped = (run: CaseRun) => makeApp(run, { is: "stopped" });

interface Manifest {
  applications: object[];
}

const withNewPackage = (is: "empty" | "stopped") => async (run: CaseRun) => {
  await makeApp(run, { is });
  await run.cf("developer", "create-package", run.name, "-p", run.values["hello"] ?? "");
};

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
      {
        name: "an app whose newest package is not staged yet",
        given: withNewPackage("empty"),
        run: "start {name}",
        shows: ["Staging app and tracing logs", /#0\s+running/],
        effect: (run) => untilRunning(run.ground, run.values["app"] ?? ""),
      },
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
        shows: ["App {name} is already stopped.", "OK"],
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
      {
        name: "an app whose newest package is not staged yet",
        given: withNewPackage("stopped"),
        run: "restart {name}",
        shows: ["Staging app and tracing logs", /#0\s+running/],
        effect: (run) => untilRunning(run.ground, run.values["app"] ?? ""),
      },
    ],
  },
  {
    command: "create-app",
    cases: [
      {
        name: "a new app",
        run: "create-app {name}",
        shows: ["Creating app {name} in org {org} / space {space} as", "OK"],
        effect: async (run) =>
          expect(await findApp(run.ground, run.name)).toMatchObject({
            state: "STOPPED",
            lifecycle: { type: "buildpack" },
          }),
      },
      {
        name: "an app that is there already",
        given: empty,
        run: "create-app {name}",
        shows: ["App with the name '{name}' already exists.", "OK"],
        effect: async (run) => expect((await findApp(run.ground, run.name))?.guid).toBe(run.values["app"]),
      },
      {
        name: "--app-type docker",
        run: "create-app {name} --app-type docker",
        shows: ['Using app type "docker"'],
        effect: async (run) => expect((await findApp(run.ground, run.name))?.lifecycle.type).toBe("docker"),
      },
      {
        name: "--app-type cnb, -b",
        run: "create-app {name} --app-type cnb -b docker://registry.example.com/buildpack",
        effect: async (run) =>
          expect((await findApp(run.ground, run.name))?.lifecycle).toMatchObject({
            type: "cnb",
            data: { buildpacks: ["docker://registry.example.com/buildpack"] },
          }),
      },
      {
        name: "by an auditor",
        as: "auditor",
        run: "create-app {name}",
        refused: ["You are not authorized to perform the requested action"],
        effect: async (run) => expect(await findApp(run.ground, run.name)).toBeUndefined(),
      },
    ],
  },
  {
    command: "apps",
    cases: [
      {
        name: "running, stopped and empty apps",
        given: async (run) => {
          await makeApp(run);
          await makeApp(run, { name: `${run.name}-stopped`, is: "stopped" });
          await makeApp(run, { name: `${run.name}-empty`, is: "empty" });
        },
        run: "apps",
        shows: [
          "Getting apps in org {org} / space {space} as",
          /name\s+requested state\s+processes\s+routes/,
          /apps-1\s+started\s+web:1\/1\s+apps-1\.apps\.localhost/,
          /apps-1-stopped\s+stopped\s+web:0\/1\s+apps-1-stopped\.apps\.localhost/,
          /apps-1-empty\s+stopped\s+web:0\/1/,
        ],
        effect: (run) => expectState(run, "STARTED"),
      },
      {
        name: "--labels",
        given: async (run) => {
          await makeApp(run, { is: "empty" });
          await makeApp(run, { name: `${run.name}-other`, is: "empty" });
          await run.cf("developer", "set-label", "app", run.name, "tier=backend");
        },
        run: ["apps", "--labels", "tier in (backend,worker)"],
        shows: ["{name}"],
        hides: ["{name}-other"],
        effect: async (run) =>
          expect((await findApp(run.ground, run.name))?.metadata.labels).toEqual({ tier: "backend" }),
      },
      {
        name: "--no-stats",
        given: running,
        run: "apps --no-stats",
        shows: [/apps-3\s+started\s+apps-3\.apps\.localhost/],
        effect: (run) => expectState(run, "STARTED"),
      },
      { name: "--labels that are none", run: "apps --labels =", refused: [/label/i] },
      {
        name: "by nobody, whose target it is not",
        alone: true,
        as: "nobody",
        run: "apps",
        shows: ["No apps found"],
        hides: ["apps-1"],
        effect: async (run) => expect(await findApp(run.ground, "apps-1")).toBeDefined(),
      },
    ],
  },
  {
    command: "create-app-manifest",
    cases: [
      {
        name: "in the folder it runs in",
        given: running,
        run: "create-app-manifest {name}",
        shows: [
          "Creating an app manifest from current settings of app {name} in org {org} / space {space} as",
          "Manifest file created successfully at",
          "OK",
        ],
        effect: async (run) => {
          const { applications } = parse(readFileSync(`${run.folder}/${run.name}_manifest.yml`, "utf8")) as Manifest;
          expect(applications).toMatchObject([
            {
              name: run.name,
              routes: [{ route: `${run.name}.apps.localhost`, protocol: "http1" }],
              processes: [{ type: "web", instances: 1 }],
            },
          ]);
        },
      },
      {
        name: "-p, and a push of it changes nothing",
        given: stopped,
        run: "create-app-manifest {name} -p made.yml",
        effect: async (run) => {
          const before = await ofApp(run, "processes/web");
          expect(await run.cf("developer", "apply-manifest", "-f", "made.yml")).toContain("OK");
          expect(await ofApp(run, "processes/web")).toMatchObject({
            ...before,
            updated_at: expect.any(String) as string,
          });
        },
      },
      noSuchApp("create-app-manifest"),
    ],
  },
];

// `cf` for an app's settings: env, set-env, unset-env, health checks, ssh.
import { expect } from "vitest";
import { eventually } from "../../eventually.ts";
import { answers, makeApp, makeAppWithWorker, ofApp, processOf } from "./support/apps.ts";
import type { CaseRun, CommandCases } from "./support/case.ts";
import { forbidden, noSuchApp } from "./support/refusals.ts";

const stopped = (run: CaseRun): Promise<string> => makeApp(run, { is: "stopped" });

async function variablesOf(run: CaseRun): Promise<Record<string, string>> {
  return (await ofApp<{ var: Record<string, string> }>(run, "environment_variables")).var;
}

async function withVariable(run: CaseRun): Promise<void> {
  await stopped(run);
  await run.cf("developer", "set-env", run.name, "COLOUR", "blue");
}

async function sshOff(run: CaseRun): Promise<void> {
  await stopped(run);
  await run.cf("developer", "disable-ssh", run.name);
}

export const CONFIG_CASES: readonly CommandCases[] = [
  {
    command: "set-env",
    cases: [
      {
        name: "a new variable",
        given: stopped,
        run: ["set-env", "{name}", "GREETING", "hi there"],
        shows: [
          "Setting env variable GREETING for app {name} in org {org} / space {space} as",
          "OK",
          "TIP: Use 'cf restage {name}' to ensure your env variable changes take effect.",
        ],
        effect: async (run) => expect(await variablesOf(run)).toEqual({ GREETING: "hi there" }),
      },
      {
        name: "over one that is there",
        given: withVariable,
        run: "set-env {name} COLOUR red",
        effect: async (run) => expect(await variablesOf(run)).toEqual({ COLOUR: "red" }),
      },
      {
        name: "a value with dashes, quotes and newlines",
        given: stopped,
        run: ["set-env", "{name}", "JSON", '{"a": "-b",\n"c": []}'],
        effect: async (run) => expect(await variablesOf(run)).toEqual({ JSON: '{"a": "-b",\n"c": []}' }),
      },
      {
        name: "an app that runs, after its restart",
        given: (run) => makeApp(run),
        run: "set-env {name} GREETING Ahoj",
        effect: async (run) => {
          expect(await answers(run, 200)).not.toContain("Ahoj");
          await run.cf("developer", "restart", run.name);
          await eventually(async () => expect(await answers(run, 200)).toContain("Ahoj"), 60_000);
        },
      },
      {
        name: "a variable of the platform",
        given: stopped,
        run: "set-env {name} VCAP_SERVICES nothing",
        refused: ["Var cannot start with VCAP_"],
        effect: async (run) => expect(await variablesOf(run)).toEqual({}),
      },
      { name: "PORT", given: stopped, run: "set-env {name} PORT 80", refused: ["Var cannot set PORT"] },
      forbidden("auditor", "set-env {name} A b"),
      {
        name: "by a supporter, who may",
        as: "supporter",
        given: stopped,
        run: "set-env {name} A b",
        effect: async (run) => expect(await variablesOf(run)).toEqual({ A: "b" }),
      },
      noSuchApp("set-env", "A b"),
    ],
  },
  {
    command: "unset-env",
    cases: [
      {
        name: "a variable that is there",
        given: withVariable,
        run: "unset-env {name} COLOUR",
        shows: ["Removing env variable COLOUR from app {name} in org {org} / space {space} as", "OK"],
        effect: async (run) => expect(await variablesOf(run)).toEqual({}),
      },
      {
        name: "one that is not there",
        given: withVariable,
        run: "unset-env {name} SHAPE",
        shows: ["Env variable SHAPE was not set.", "OK"],
        effect: async (run) => expect(await variablesOf(run)).toEqual({ COLOUR: "blue" }),
      },
      noSuchApp("unset-env", "A"),
    ],
  },
  {
    command: "env",
    cases: [
      {
        name: "all of it",
        given: withVariable,
        run: "env {name}",
        shows: [
          "Getting env variables for app {name} in org {org} / space {space} as",
          "System-Provided:",
          "VCAP_SERVICES",
          "VCAP_APPLICATION",
          /User-Provided:\nCOLOUR:\s+blue/,
          "No running env variables have been set",
          "No staging env variables have been set",
        ],
        effect: async (run, output) => expect(output).toContain(run.values["app"]),
      },
      {
        name: "no variables",
        given: stopped,
        run: "env {name}",
        shows: ["No user-provided env variables have been set"],
        effect: async (run) => expect(await variablesOf(run)).toEqual({}),
      },
      forbidden("auditor", "env {name}"),
      noSuchApp("env"),
    ],
  },
  {
    command: "set-health-check",
    cases: [
      {
        name: "http --endpoint --invocation-timeout",
        given: stopped,
        run: "set-health-check {name} http --endpoint /healthz --invocation-timeout 3",
        shows: ["Updating health check type for app {name} process web in org {org} / space {space} as", "OK"],
        effect: async (run) =>
          expect((await processOf(run)).health_check).toMatchObject({
            type: "http",
            data: { endpoint: "/healthz", invocation_timeout: 3 },
          }),
      },
      {
        name: "process, of an app that runs",
        given: (run) => makeApp(run),
        run: "set-health-check {name} process",
        shows: ["TIP: An app restart is required for the change to take effect."],
        effect: async (run) => expect((await processOf(run)).health_check).toMatchObject({ type: "process" }),
      },
      {
        name: "port, after http",
        given: async (run) => {
          await stopped(run);
          await run.cf("developer", "set-health-check", run.name, "http", "--endpoint", "/x");
        },
        run: "set-health-check {name} port",
        effect: async (run) => expect((await processOf(run)).health_check).toMatchObject({ type: "port" }),
      },
      {
        name: "http --process --endpoint",
        given: makeAppWithWorker,
        run: "set-health-check {name} http --process worker --endpoint /well",
        effect: async (run) => {
          expect((await processOf(run, "worker")).health_check).toMatchObject({
            type: "http",
            data: { endpoint: "/well" },
          });
          expect((await processOf(run)).health_check.type).toBe("port");
        },
      },
      {
        name: "--process of a type that the app has not",
        given: stopped,
        run: "set-health-check {name} process --process worker",
        refused: ["Process worker not found"],
      },
      {
        name: "port --endpoint",
        given: stopped,
        run: "set-health-check {name} port --endpoint /x",
        refused: ["Health check type must be 'http' to set a health check HTTP endpoint."],
      },
      forbidden("auditor", "set-health-check {name} process"),
      noSuchApp("set-health-check", "process"),
    ],
  },
  {
    command: "get-health-check",
    cases: [
      {
        name: "of each process",
        given: stopped,
        run: "get-health-check {name}",
        shows: [
          "Getting health check type for app {name} in org {org} / space {space} as",
          /process\s+health check\s+endpoint \(for http\)\s+invocation timeout/,
          /web\s+port\s+1/,
        ],
        effect: async (run) => expect((await processOf(run)).health_check.type).toBe("port"),
      },
      noSuchApp("get-health-check"),
    ],
  },
  {
    command: "get-readiness-health-check",
    cases: [
      {
        name: "of each process",
        given: async (run) => {
          await stopped(run);
          const { guid } = await processOf(run);
          const readiness_health_check = {
            type: "http",
            data: { endpoint: "/ready", invocation_timeout: 4, interval: 9 },
          };
          await run.ground.api.admin.call("PATCH", `/v3/processes/${guid}`, { readiness_health_check });
        },
        run: "get-readiness-health-check {name}",
        shows: [/web\s+http\s+\/ready\s+4\s+9/],
        effect: async (run) =>
          expect((await processOf(run)).readiness_health_check).toMatchObject({
            type: "http",
            data: { endpoint: "/ready" },
          }),
      },
      {
        name: "none",
        given: stopped,
        run: "get-readiness-health-check {name}",
        shows: [/web\s+process/],
        effect: async (run) => expect((await processOf(run)).readiness_health_check.type).toBe("process"),
      },
      noSuchApp("get-readiness-health-check"),
    ],
  },
  {
    command: "enable-ssh",
    cases: [
      {
        name: "an app whose ssh is off",
        given: sshOff,
        run: "enable-ssh {name}",
        shows: ["Enabling ssh support for app {name} as", "OK"],
        effect: (run) => expectSSH(run, true),
      },
      {
        name: "an app whose ssh is on",
        given: stopped,
        run: "enable-ssh {name}",
        shows: ["ssh support for app '{name}' is already enabled."],
        effect: (run) => expectSSH(run, true),
      },
      forbidden("auditor", "enable-ssh {name}", sshOff),
      noSuchApp("enable-ssh"),
    ],
  },
  {
    command: "disable-ssh",
    cases: [
      {
        name: "an app whose ssh is on",
        given: stopped,
        run: "disable-ssh {name}",
        shows: ["Disabling ssh support for app {name} as", "OK"],
        effect: (run) => expectSSH(run, false),
      },
      {
        name: "an app whose ssh is off",
        given: sshOff,
        run: "disable-ssh {name}",
        shows: ["ssh support for app '{name}' is already disabled."],
        effect: (run) => expectSSH(run, false),
      },
      forbidden("auditor", "disable-ssh {name}"),
      noSuchApp("disable-ssh"),
    ],
  },
  {
    command: "ssh-enabled",
    cases: [
      {
        name: "an app whose ssh is off",
        given: sshOff,
        run: "ssh-enabled {name}",
        shows: ["ssh support is disabled for app '{name}'."],
        effect: (run) => expectSSH(run, false),
      },
      noSuchApp("ssh-enabled"),
    ],
  },
];

async function expectSSH(run: CaseRun, enabled: boolean): Promise<void> {
  expect(await ofApp<{ enabled: boolean }>(run, "features/ssh")).toMatchObject({ enabled });
}

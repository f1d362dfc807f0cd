// `cf` for user-provided service instances: made, changed, listed, renamed, deleted, bound to apps and unbound.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import type { Page } from "../support/api.ts";
import { makeApp, ofApp } from "./support/apps.ts";
import type { CaseRun, CommandCases } from "./support/case.ts";
import { exists, getNamed, isGone, read, type Shown } from "./support/objects.ts";
import { noSuchApp } from "./support/refusals.ts";

const NO_SUCH = ["Service instance 'no-such-service' not found", "FAILED"];
const FORBIDDEN = ["You are not authorized to perform the requested action"];
const CREDENTIALS = { user: "u", password: "p" };

/** A service instance of the case's name. */
async function makeInstance(run: CaseRun, more: object = {}): Promise<Shown> {
  return run.ground.api.admin.call<Shown>("POST", "/v3/service_instances", {
    type: "user-provided",
    name: run.name,
    credentials: CREDENTIALS,
    relationships: { space: { data: { guid: run.ground.spaceGUID } } },
    ...more,
  });
}

async function withApp(run: CaseRun): Promise<void> {
  await makeInstance(run);
  await makeApp(run, { is: "stopped" });
}

async function boundApp(run: CaseRun): Promise<void> {
  await withApp(run);
  await run.cf("developer", "bind-service", run.name, run.name);
}

const isDeleted = isGone("service_instances");

async function credentialsOf(run: CaseRun): Promise<object> {
  const { guid } = await getNamed(run, "service_instances");
  return read<object>(run, `/v3/service_instances/${guid}/credentials`);
}

interface VcapService {
  name: string;
  credentials: object;
}

/** The app's user-provided instances in VCAP_SERVICES. */
async function servicesOf(run: CaseRun): Promise<VcapService[]> {
  const env = await ofApp<{ system_env_json: { VCAP_SERVICES: Record<string, VcapService[]> } }>(run, "env");
  return env.system_env_json.VCAP_SERVICES["user-provided"] ?? [];
}

async function bindingsOf(run: CaseRun): Promise<Shown[]> {
  const { guid } = await getNamed(run, "service_instances");
  return (await read<Page<Shown>>(run, `/v3/service_credential_bindings?service_instance_guids=${guid}`)).resources;
}

export const SERVICE_CASES: readonly CommandCases[] = [
  {
    command: "create-user-provided-service",
    cases: [
      {
        name: "-p as JSON, -l, -r, -t",
        run: [
          "create-user-provided-service",
          "{name}",
          "-p",
          JSON.stringify(CREDENTIALS),
          "-l",
          "syslog://logs.example.com",
          "-r",
          "https://route.example.com",
          "-t",
          "sql, cheap",
        ],
        shows: ["Creating user provided service {name} in org {org} / space {space} as", "OK"],
        effect: async (run) => {
          await exists("service_instances", {
            type: "user-provided",
            tags: ["sql", "cheap"],
            syslog_drain_url: "syslog://logs.example.com",
            route_service_url: "https://route.example.com",
          })(run);
          expect(await credentialsOf(run)).toEqual(CREDENTIALS);
        },
      },
      {
        name: "-p with names, whose values a person types",
        run: ["create-user-provided-service", "{name}", "-p", "user"],
        input: "ann\n",
        effect: async (run) => expect(await credentialsOf(run)).toEqual({ user: "ann" }),
      },
      {
        name: "without credentials",
        run: "create-user-provided-service {name}",
        effect: async (run) => expect(await credentialsOf(run)).toEqual({}),
      },
      {
        name: "a name that is taken",
        given: makeInstance,
        run: "create-user-provided-service {name}",
        shows: ["Service instance {name} already exists", "OK"],
        effect: async (run) => expect(await credentialsOf(run)).toEqual(CREDENTIALS),
      },
      {
        name: "-r without TLS",
        run: "create-user-provided-service {name} -r http://route.example.com",
        refused: ["must be https"],
        effect: isDeleted,
      },
      { name: "by an auditor", as: "auditor", run: "create-user-provided-service {name}", refused: FORBIDDEN },
    ],
  },
  {
    command: "update-user-provided-service",
    cases: [
      {
        name: "-p, -l, -t",
        given: makeInstance,
        run: [
          "update-user-provided-service",
          "{name}",
          "-p",
          '{"user":"new"}',
          "-l",
          "syslog://other.example.com",
          "-t",
          "red",
        ],
        shows: ["OK"],
        effect: async (run) => {
          await exists("service_instances", { tags: ["red"], syslog_drain_url: "syslog://other.example.com" })(run);
          expect(await credentialsOf(run)).toEqual({ user: "new" });
        },
      },
      {
        name: "an empty -l, which takes it away",
        given: (run) => makeInstance(run, { syslog_drain_url: "syslog://logs.example.com" }),
        run: ["update-user-provided-service", "{name}", "-l", ""],
        effect: exists("service_instances", { syslog_drain_url: null }),
      },
      { name: "no such instance", run: "update-user-provided-service no-such-service -t a", refused: NO_SUCH },
    ],
  },
  {
    command: "services",
    cases: [
      {
        name: "an instance and its bound app",
        given: boundApp,
        run: "services",
        shows: ["Getting service instances in org {org} / space {space} as"],
        effect: (run, output) =>
          Promise.resolve(
            expect(output).toMatch(new RegExp(`${run.name} +user-provided +${run.name} +create succeeded`)),
          ),
      },
    ],
  },
  {
    command: "service",
    cases: [
      {
        name: "a bound instance",
        given: boundApp,
        run: "service {name}",
        shows: [
          "Showing info of service {name} in org {org} / space {space} as",
          "user-provided",
          "Showing bound apps:",
        ],
        effect: async (run) => expect(await bindingsOf(run)).toHaveLength(1),
      },
      {
        name: "--guid",
        given: makeInstance,
        run: "service {name} --guid",
        effect: async (run, output) => expect(output).toContain((await getNamed(run, "service_instances")).guid),
      },
      {
        name: "--params, which it has not",
        given: makeInstance,
        run: "service {name} --params",
        refused: ["This service does not support fetching service instance parameters."],
      },
      { name: "no such instance", run: "service no-such-service", refused: NO_SUCH },
    ],
  },
  {
    command: "rename-service",
    cases: [
      {
        name: "to a free name",
        given: makeInstance,
        run: "rename-service {name} {name}-new",
        shows: ["Renaming service {name} to {name}-new", "OK"],
        effect: (run) => exists("service_instances", {}, `${run.name}-new`)(run),
      },
      { name: "no such instance", run: "rename-service no-such-service other", refused: NO_SUCH },
    ],
  },
  {
    command: "delete-service",
    cases: [
      {
        name: "-f",
        given: makeInstance,
        run: "delete-service -f {name}",
        shows: ["Deleting service instance {name}", "OK"],
        effect: isDeleted,
      },
      { name: "with its bindings", given: boundApp, run: "delete-service -f {name}", effect: isDeleted },
      {
        name: "with a person who says no",
        given: makeInstance,
        run: "delete-service {name}",
        input: "n\n",
        effect: exists("service_instances"),
      },
      {
        name: "one that does not exist",
        run: "delete-service -f no-such-service",
        shows: ["Service instance no-such-service did not exist.", "OK"],
        effect: isGone("service_instances", "no-such-service"),
      },
    ],
  },
  {
    command: "bind-service",
    cases: [
      {
        name: "an app and an instance",
        given: withApp,
        run: "bind-service {name} {name}",
        shows: ["Binding service instance {name} to app {name}", "OK", "TIP: Use 'cf restage {name}'"],
        effect: async (run) =>
          expect(await servicesOf(run)).toMatchObject([{ name: run.name, credentials: CREDENTIALS }]),
      },
      {
        name: "--binding-name",
        given: withApp,
        run: "bind-service {name} {name} --binding-name store",
        effect: async (run) => expect(await servicesOf(run)).toMatchObject([{ name: "store" }]),
      },
      {
        name: "again",
        given: boundApp,
        run: "bind-service {name} {name}",
        shows: ["App {name} is already bound to service instance {name}.", "OK"],
        effect: async (run) => expect(await bindingsOf(run)).toHaveLength(1),
      },
      {
        name: "by a supporter, who may",
        as: "supporter",
        given: withApp,
        run: "bind-service {name} {name}",
        effect: async (run) => expect(await bindingsOf(run)).toHaveLength(1),
      },
      { name: "by an auditor", as: "auditor", given: withApp, run: "bind-service {name} {name}", refused: FORBIDDEN },
      {
        name: "no such instance",
        given: (run) => makeApp(run, { is: "empty" }),
        run: "bind-service {name} no-such-service",
        refused: NO_SUCH,
      },
      { ...noSuchApp("bind-service", "{name}"), given: makeInstance },
    ],
  },
  {
    command: "unbind-service",
    cases: [
      {
        name: "a bound app",
        given: boundApp,
        run: "unbind-service {name} {name}",
        shows: ["Unbinding app {name} from service {name}", "OK"],
        effect: async (run) => expect([await bindingsOf(run), await servicesOf(run)]).toEqual([[], []]),
      },
      {
        name: "an app that is not bound",
        given: withApp,
        run: "unbind-service {name} {name}",
        shows: ["Binding between {name} and {name} does not exist", "OK"],
        effect: async (run) => expect(await bindingsOf(run)).toEqual([]),
      },
    ],
  },
  {
    command: "set-label",
    cases: [
      {
        name: "of a service instance",
        given: makeInstance,
        run: "set-label service-instance {name} tier=gold",
        shows: ["Setting label(s) for service-instance {name}", "OK"],
        effect: exists("service_instances", { metadata: { labels: { tier: "gold" } } }),
      },
    ],
  },
  {
    command: "labels",
    cases: [
      {
        name: "of a service instance",
        given: (run) => makeInstance(run, { metadata: { labels: { tier: "gold" } } }),
        run: "labels service-instance {name}",
        effect: (_, output) => Promise.resolve(expect(output).toMatch(/tier +gold/)),
      },
    ],
  },
  {
    command: "unset-label",
    cases: [
      {
        name: "of a service instance",
        given: (run) => makeInstance(run, { metadata: { labels: { tier: "gold" } } }),
        run: "unset-label service-instance {name} tier",
        effect: exists("service_instances", { metadata: { labels: {} } }),
      },
    ],
  },
  {
    command: "push",
    cases: [
      {
        name: "a manifest that names a service instance",
        given: async (run) => {
          await makeInstance(run);
          const manifest = `applications:\n- name: ${run.name}\n  services:\n  - name: ${run.name}\n    binding_name: store\n`;
          writeFileSync(join(run.folder, "manifest.yml"), manifest);
          writeFileSync(join(run.folder, "index.html"), "hello");
        },
        run: "push --no-start",
        effect: async (run) =>
          expect(await servicesOf(run)).toMatchObject([{ name: "store", credentials: CREDENTIALS }]),
      },
    ],
  },
];

// `cf` for service instances of brokers: made, changed, upgraded, listed, deleted and purged; their keys and bindings.
import { expect } from "vitest";
import { eventually } from "../../eventually.ts";
import type { Page } from "../support/api.ts";
import { makeApp, ofApp } from "./support/apps.ts";
import { brokerOf, withBroker, withInstance, withKey } from "./support/brokers.ts";
import type { CaseRun, CommandCases } from "./support/case.ts";
import { exists, getNamed, isGone, read, type Shown } from "./support/objects.ts";

const isDeleted = isGone("service_instances");
const CREATE = "create-service database small {name} -b {name}";

async function withBoundApp(run: CaseRun): Promise<void> {
  await withInstance(run);
  await makeApp(run, { is: "stopped" });
  await run.cf("developer", "bind-service", run.name, run.name, "--wait");
}

async function withTwoBindings(run: CaseRun): Promise<void> {
  await withBoundApp(run);
  await run.cf("developer", "bind-service", run.name, run.name, "--strategy", "multiple", "--wait");
}

async function withInstanceAndApp(run: CaseRun): Promise<void> {
  await withInstance(run);
  await makeApp(run, { is: "stopped" });
}

async function bindingsOf(run: CaseRun, type: string): Promise<Shown[]> {
  const { guid } = await getNamed(run, "service_instances");
  const path = `/v3/service_credential_bindings?type=${type}&service_instance_guids=${guid}`;
  return (await read<Page<Shown>>(run, path)).resources;
}

const lastOperation = (type: string, state: string) => exists("service_instances", { last_operation: { type, state } });

/** Makes an instance of the version before, and a catalog with a newer one. */
async function withOldInstance(run: CaseRun): Promise<void> {
  await withInstance(run, "large");
  const { catalog } = await newerCatalog();
  brokerOf(run).set({ catalog });
  const { url, username, password } = brokerOf(run);
  await run.cf("admin", "update-service-broker", run.name, username, password, url);
  await eventually(async () =>
    expect(await getNamed(run, "service_instances")).toMatchObject({ upgrade_available: true }),
  );
}

async function newerCatalog(): Promise<{ catalog: object }> {
  const { TEST_CATALOG } = await import("../../service-broker/behaviour.ts");
  const text = JSON.stringify(TEST_CATALOG).replace('"2.0.0"', '"3.0.0"');
  return { catalog: JSON.parse(text) as object };
}

export const MANAGED_SERVICE_CASES: readonly CommandCases[] = [
  {
    command: "create-service",
    cases: [
      {
        name: "-b, -c, -t and --wait",
        given: withBroker,
        run: [...CREATE.split(" "), "-c", '{"size":5}', "-t", "mine", "--wait"],
        shows: ["Creating service instance {name} in org {org} / space {space} as", "OK", "created"],
        effect: async (run) => {
          await exists("service_instances", { type: "managed", tags: ["mine"] })(run);
          await lastOperation("create", "succeeded")(run);
          expect(brokerOf(run).requests("provision")[0]?.body).toMatchObject({ parameters: { size: 5 } });
        },
      },
      {
        name: "of a broker that goes on by itself",
        given: async (run) => {
          await withBroker(run);
          brokerOf(run).set({ behaviours: { provision: { async: { polls: 1000 } } } });
        },
        run: CREATE,
        shows: ["Create in progress. Use 'cf services' or 'cf service {name}' to check operation status.", "OK"],
        effect: lastOperation("create", "in progress"),
      },
      {
        name: "--wait, which the broker refuses",
        given: async (run) => {
          await withBroker(run);
          const text = JSON.stringify({ description: "no room" });
          brokerOf(run).set({ behaviours: { provision: { answer: { status: 400, text } } } });
        },
        run: `${CREATE} --wait`,
        refused: ["no room"],
        effect: lastOperation("create", "failed"),
      },
      {
        name: "a name that is taken",
        given: withInstance,
        run: CREATE,
        shows: ["Service instance {name} already exists", "OK"],
        effect: async (run) => {
          await lastOperation("create", "succeeded")(run);
          expect(brokerOf(run).requests("provision")).toHaveLength(1);
        },
      },
      {
        name: "no such plan",
        given: withBroker,
        run: "create-service database huge {name} -b {name}",
        refused: ["The plan 'huge' could not be found for service offering 'database' and broker '{name}'."],
        effect: isDeleted,
      },
    ],
  },
  {
    command: "update-service",
    cases: [
      {
        name: "-p, -c, -t and --wait",
        given: withInstance,
        run: ["update-service", "{name}", "-p", "large", "-c", '{"size":7}', "-t", "new", "--wait"],
        shows: ["Updating service instance {name} in org {org} / space {space} as", "OK"],
        effect: async (run) => {
          await exists("service_instances", { tags: ["new"] })(run);
          await lastOperation("update", "succeeded")(run);
          expect(brokerOf(run).requests("update")[0]?.body).toMatchObject({
            plan_id: "plan-large",
            parameters: { size: 7 },
            previous_values: { plan_id: "plan-small" },
          });
        },
      },
    ],
  },
  {
    command: "upgrade-service",
    cases: [
      {
        name: "to the newer version of its plan",
        given: withOldInstance,
        run: "upgrade-service {name} --force --wait",
        shows: ["OK"],
        effect: exists("service_instances", { upgrade_available: false, maintenance_info: { version: "3.0.0" } }),
      },
    ],
  },
  {
    command: "service",
    cases: [
      {
        name: "of a broker",
        given: withInstance,
        run: "service {name}",
        shows: [/type:\s+managed/, /offering:\s+database/, /plan:\s+small/, /broker:\s+service-/, "create succeeded"],
        effect: (run) => exists("service_instances", { type: "managed" })(run),
      },
    ],
  },
  {
    command: "services",
    cases: [
      {
        name: "of a broker",
        given: withInstance,
        run: "services",
        shows: [/services-\d+\s+database\s+small\s+create succeeded\s+services-/],
        effect: (run) => exists("service_instances", { type: "managed" })(run),
      },
    ],
  },
  {
    command: "delete-service",
    cases: [
      {
        name: "of a broker, with its key",
        given: withKey,
        run: "delete-service {name} -f --wait",
        shows: ["OK"],
        effect: async (run) => {
          await isDeleted(run);
          expect(brokerOf(run).things()).toEqual([]);
        },
      },
      {
        name: "--wait, which the broker refuses",
        given: async (run) => {
          await withInstance(run);
          const text = JSON.stringify({ description: "in use" });
          brokerOf(run).set({ behaviours: { deprovision: { answer: { status: 500, text } } } });
        },
        run: "delete-service {name} -f --wait",
        refused: ["in use"],
        effect: lastOperation("delete", "failed"),
      },
    ],
  },
  {
    command: "purge-service-instance",
    cases: [
      {
        name: "whose broker does not answer well",
        as: "admin",
        given: async (run) => {
          await withInstance(run);
          brokerOf(run).set({ behaviours: { deprovision: { answer: { status: 500 } } } });
        },
        run: "purge-service-instance {name} -f",
        shows: ["OK"],
        effect: async (run) => {
          await isDeleted(run);
          expect(brokerOf(run).requests("deprovision")).toEqual([]);
        },
      },
    ],
  },
  {
    command: "create-service-key",
    cases: [
      {
        name: "-c and --wait",
        given: withInstance,
        run: ["create-service-key", "{name}", "reader", "-c", '{"ro":true}', "--wait"],
        shows: ["Creating service key reader for service instance {name} as", "OK"],
        effect: async (run) => {
          expect(await bindingsOf(run, "key")).toMatchObject([{ name: "reader" }]);
          expect(brokerOf(run).requests("bind")[0]?.body).toMatchObject({ parameters: { ro: true } });
        },
      },
      {
        name: "a name that is taken",
        given: withKey,
        run: "create-service-key {name} reader",
        shows: ["Service key reader already exists", "OK"],
        effect: async (run) => expect(await bindingsOf(run, "key")).toHaveLength(1),
      },
    ],
  },
  {
    command: "service-keys",
    cases: [
      {
        name: "of an instance",
        given: withKey,
        run: "service-keys {name}",
        shows: [/reader\s+create succeeded/],
        effect: async (run) => expect(await bindingsOf(run, "key")).toHaveLength(1),
      },
    ],
  },
  {
    command: "service-key",
    cases: [
      {
        name: "with its credentials",
        given: withKey,
        run: "service-key {name} reader",
        shows: ["credentials"],
        effect: async (run) => expect(await bindingsOf(run, "key")).toHaveLength(1),
      },
    ],
  },
  {
    command: "delete-service-key",
    cases: [
      {
        name: "-f and --wait",
        given: withKey,
        run: "delete-service-key {name} reader -f --wait",
        shows: ["OK"],
        effect: async (run) => {
          expect(await bindingsOf(run, "key")).toEqual([]);
          expect(brokerOf(run).requests("unbind")).toHaveLength(1);
        },
      },
    ],
  },
  {
    command: "bind-service",
    cases: [
      {
        name: "of a broker, -c and --wait",
        given: withInstanceAndApp,
        run: ["bind-service", "{name}", "{name}", "-c", '{"ro":true}', "--wait"],
        shows: ["Binding service instance {name} to app {name}", "OK"],
        effect: async (run) => {
          expect(brokerOf(run).requests("bind")[0]?.body).toMatchObject({ parameters: { ro: true } });
          const env = await ofApp<{ system_env_json: { VCAP_SERVICES: object } }>(run, "env");
          expect(env.system_env_json.VCAP_SERVICES).toMatchObject({ database: [{ plan: "small", label: "database" }] });
        },
      },
      {
        name: "--strategy multiple: an app that is bound already",
        given: withBoundApp,
        run: "bind-service {name} {name} --strategy multiple --wait",
        shows: ["Binding service instance {name} to app {name}", "OK"],
        effect: async (run) => {
          expect(await bindingsOf(run, "app")).toHaveLength(2);
          const env = await ofApp<{ system_env_json: { VCAP_SERVICES: { database: object[] } } }>(run, "env");
          expect(env.system_env_json.VCAP_SERVICES.database).toHaveLength(1);
        },
      },
    ],
  },
  {
    command: "unbind-service",
    cases: [
      {
        name: "of a broker, --wait",
        given: withBoundApp,
        run: "unbind-service {name} {name} --wait",
        shows: ["OK"],
        effect: async (run) => expect(await bindingsOf(run, "app")).toEqual([]),
      },
    ],
  },
  {
    command: "cleanup-outdated-service-bindings",
    cases: [
      {
        name: "of two bindings",
        given: withTwoBindings,
        run: "cleanup-outdated-service-bindings {name} --service-instance {name} --force --wait",
        shows: ["Found 1 outdated service binding.", "Deleting service binding", "OK"],
        effect: async (run) => expect(await bindingsOf(run, "app")).toHaveLength(1),
      },
      {
        name: "--keep-last: an app's only binding to an instance stays",
        given: withBoundApp,
        run: "cleanup-outdated-service-bindings {name} --keep-last 2 --force",
        shows: ["No outdated service bindings found", "OK"],
        effect: async (run) => expect(await bindingsOf(run, "app")).toHaveLength(1),
      },
    ],
  },
];

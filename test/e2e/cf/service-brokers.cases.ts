// Stock `cf` for service brokers: registered, changed, enabled for orgs, found in the marketplace, purged and deleted. The broker is a real one, over HTTP.
import { expect } from "vitest";
import { eventually } from "../../eventually.ts";
import { TEST_CATALOG } from "../../service-broker/behaviour.ts";
import { startTestBroker, type TestBroker } from "../../service-broker/test-broker.ts";
import type { Page } from "../support/api.ts";
import type { Case, CaseRun, CommandCases } from "./support/case.ts";
import { exists, findNamed, getNamed, isGone, read, type Shown } from "./support/objects.ts";

const FORBIDDEN = ["You are not authorized to perform the requested action"];

const servers: TestBroker[] = [];

/** Ends the brokers of all cases. */
export function closeBrokers(): Promise<unknown> {
  return Promise.all(servers.map((one) => one.close()));
}

/** A broker of the case's own, whose offering has the case's name, too; it is not registered. */
async function startBroker(run: CaseRun): Promise<TestBroker> {
  const server = await startTestBroker({ host: run.ground.stage.hostAddress });
  servers.push(server);
  const services = TEST_CATALOG.services.map((one) => ({ ...one, id: run.name, name: run.name }));
  server.set({ catalog: { services } });
  run.values["url"] = server.url;
  return server;
}

async function register(run: CaseRun): Promise<TestBroker> {
  const server = await startBroker(run);
  await run.cf("admin", "create-service-broker", run.name, "broker", "secret", server.url);
  return server;
}

async function enabled(run: CaseRun): Promise<void> {
  await register(run);
  await run.cf("admin", "enable-service-access", run.name);
}

async function plansOf(run: CaseRun): Promise<Shown[]> {
  return (await read<Page<Shown>>(run, `/v3/service_plans?service_broker_names=${run.name}&order_by=name`)).resources;
}

/** An effect: the visibility of the plans `large` and `small`. */
const visibilities =
  (large: string, small: string): NonNullable<Case["effect"]> =>
  async (run) =>
    expect((await plansOf(run)).map(({ visibility_type }) => visibility_type)).toEqual([large, small]);

const isRegistered = exists("service_brokers");
const noOffering = isGone("service_offerings");

export const BROKER_CASES: readonly CommandCases[] = [
  {
    command: "create-service-broker",
    cases: [
      {
        name: "by an admin",
        as: "admin",
        given: startBroker,
        run: "create-service-broker {name} broker secret {url}",
        shows: ["Creating service broker {name} as", "OK"],
        effect: async (run) => {
          await isRegistered(run);
          await visibilities("admin", "admin")(run, "");
        },
      },
      {
        name: "with a wrong password",
        as: "admin",
        given: startBroker,
        run: "create-service-broker {name} broker wrong {url}",
        refused: ["the service broker refused its username or password", "FAILED"],
        effect: noOffering,
      },
      {
        name: "that nobody answers for",
        as: "admin",
        given: async (run) => (await startBroker(run)).close(),
        run: "create-service-broker {name} broker secret {url}",
        refused: ["the service broker could not be reached", "FAILED"],
      },
      {
        name: "a name that is taken",
        as: "admin",
        given: register,
        run: "create-service-broker {name} broker secret {url}",
        refused: ["Name must be unique", "FAILED"],
        effect: isRegistered,
      },
      {
        name: "--update-if-exists",
        as: "admin",
        given: register,
        run: "create-service-broker {name} broker secret {url}/ --update-if-exists",
        shows: ["Updating service broker {name} as", "OK"],
        effect: isRegistered,
      },
      {
        name: "--space-scoped, by a developer",
        given: startBroker,
        run: "create-service-broker {name} broker secret {url} --space-scoped",
        shows: ["Creating service broker {name} in org {org} / space {space} as", "OK"],
        effect: visibilities("space", "space"),
      },
      {
        name: "by a developer",
        given: startBroker,
        run: "create-service-broker {name} broker secret {url}",
        refused: FORBIDDEN,
      },
    ],
  },
  {
    command: "update-service-broker",
    cases: [
      {
        name: "another password",
        as: "admin",
        given: async (run) => (await register(run)).set({ password: "changed" }),
        run: "update-service-broker {name} broker changed {url}",
        shows: ["Updating service broker {name} as", "OK"],
        effect: isRegistered,
      },
      {
        name: "a catalog without a plan that it had",
        as: "admin",
        given: async (run) => {
          const server = await register(run);
          const [one] = TEST_CATALOG.services;
          const services = [{ ...one, id: run.name, name: run.name, plans: one?.plans.slice(0, 1) }];
          server.set({ catalog: { services } });
        },
        run: "update-service-broker {name} broker secret {url}",
        effect: async (run) => expect((await plansOf(run)).map(({ name }) => name)).toEqual(["small"]),
      },
    ],
  },
  {
    command: "rename-service-broker",
    cases: [
      {
        name: "by an admin",
        as: "admin",
        given: register,
        run: "rename-service-broker {name} {name}-renamed",
        shows: ["Renaming service broker {name} to {name}-renamed as", "OK"],
        effect: (run) => exists("service_brokers", {}, `${run.name}-renamed`)(run),
      },
    ],
  },
  {
    command: "service-brokers",
    cases: [
      {
        name: "by an admin",
        as: "admin",
        given: register,
        run: "service-brokers",
        shows: ["Getting service brokers as", /name\s+url/],
        effect: async (run, output) =>
          expect(output).toMatch(new RegExp(`${run.name}\\s+${RegExp.escape(run.values["url"] ?? "")}`)),
      },
      {
        name: "by a developer, who sees those of the space only",
        given: register,
        run: "service-brokers",
        hides: ["{name} "],
        effect: isRegistered,
      },
    ],
  },
  {
    command: "enable-service-access",
    cases: [
      {
        name: "for all",
        as: "admin",
        given: register,
        run: "enable-service-access {name}",
        shows: ["Enabling access to all plans of service offering {name} for all orgs as", "OK"],
        effect: visibilities("public", "public"),
      },
      {
        name: "-p -o",
        as: "admin",
        given: register,
        run: "enable-service-access {name} -b {name} -p small -o {org}",
        shows: ["OK"],
        effect: visibilities("admin", "organization"),
      },
      { name: "by a developer", given: enabled, run: "enable-service-access {name}", refused: FORBIDDEN },
    ],
  },
  {
    command: "disable-service-access",
    cases: [
      {
        name: "for all",
        as: "admin",
        given: enabled,
        run: "disable-service-access {name}",
        shows: ["Disabling access to all plans of service offering {name} for all orgs as", "OK"],
        effect: visibilities("admin", "admin"),
      },
      {
        name: "-o",
        as: "admin",
        given: async (run) => {
          await register(run);
          await run.cf("admin", "enable-service-access", run.name, "-o", run.values["org"] ?? "");
        },
        run: "disable-service-access {name} -o {org}",
        shows: ["OK"],
        effect: async (run) => {
          const { resources } = await read<Page<Shown>>(
            run,
            `/v3/service_plans?service_broker_names=${run.name}&organization_guids=${run.ground.orgGUID}`,
          );
          expect(resources).toEqual([]);
        },
      },
    ],
  },
  {
    command: "service-access",
    cases: [
      {
        name: "-b",
        as: "admin",
        given: async (run) => {
          await register(run);
          await run.cf("admin", "enable-service-access", run.name, "-p", "small", "-o", run.values["org"] ?? "");
        },
        run: "service-access -b {name}",
        shows: ["broker: {name}"],
        effect: async (run, output) => {
          expect(output).toMatch(new RegExp(`${run.name}\\s+small\\s+limited\\s+${run.values["org"]}`));
          expect(output).toMatch(new RegExp(`${run.name}\\s+large\\s+none`));
          await visibilities("admin", "organization")(run, output);
        },
      },
    ],
  },
  {
    command: "marketplace",
    cases: [
      {
        name: "all",
        given: enabled,
        run: "marketplace",
        shows: [/offering\s+plans\s+description\s+broker/],
        effect: async (run, output) =>
          expect(output).toMatch(new RegExp(`${run.name}\\s+small, large\\s+A database\\s+${run.name}`)),
      },
      {
        name: "-e -b",
        given: enabled,
        run: "marketplace -e {name} -b {name}",
        shows: ["broker: {name}", /small\s+A small one\s+free/, /large\s+A large one\s+paid\s+USD 9.50\/MONTHLY/],
        effect: visibilities("public", "public"),
      },
      {
        name: "--show-unavailable, without what is not enabled",
        given: register,
        run: "marketplace --show-unavailable",
        hides: ["{name} "],
        effect: visibilities("admin", "admin"),
      },
    ],
  },
  {
    command: "purge-service-offering",
    cases: [
      {
        name: "-f",
        as: "admin",
        given: enabled,
        run: "purge-service-offering {name} -f",
        shows: ["Purging service offering {name}...", "OK"],
        effect: noOffering,
      },
    ],
  },
  {
    command: "delete-service-broker",
    cases: [
      {
        name: "-f",
        as: "admin",
        given: enabled,
        run: "delete-service-broker {name} -f",
        shows: ["Deleting service broker {name}...", "OK"],
        effect: async (run) => {
          await isGone("service_brokers")(run);
          await noOffering(run);
        },
      },
      {
        name: "with an instance",
        as: "admin",
        given: async (run) => {
          await enabled(run);
          await run.cf("developer", "create-service", run.name, "small", run.name, "--wait");
        },
        run: "delete-service-broker {name} -f",
        refused: ["Can not remove brokers that have associated service instances: {name}", "FAILED"],
        effect: async (run) => {
          await getNamed(run, "service_brokers");
          await run.cf("developer", "delete-service", run.name, "-f", "--wait");
          await eventually(async () => expect(await findNamed(run, "service_instances")).toBeUndefined());
        },
      },
    ],
  },
];

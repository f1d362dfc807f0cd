// `cf` for service instances that spaces share: shared, shown in both spaces, and unshared with their bindings.
import { expect } from "vitest";
import { eventually } from "../../eventually.ts";
import type { Page } from "../support/api.ts";
import { brokerOf, withInstance } from "./support/brokers.ts";
import type { CaseRun, CommandCases } from "./support/case.ts";
import { getNamed, makeSpace, read, to, type Shown } from "./support/objects.ts";

const SHARE = "share-service {name} -s {name} -o {org}";

async function sharedPath(run: CaseRun): Promise<string> {
  return `/v3/service_instances/${(await getNamed(run, "service_instances")).guid}/relationships/shared_spaces`;
}

async function sharedWith(run: CaseRun): Promise<string[]> {
  const { data } = await read<{ data: { guid: string }[] }>(run, await sharedPath(run));
  return data.map(({ guid }) => guid);
}

/** An instance, and another space, both of the case's name. */
async function withSpace(run: CaseRun): Promise<void> {
  await run.ground.api.admin.call("PATCH", "/v3/feature_flags/service_instance_sharing", { enabled: true });
  await withInstance(run);
  await makeSpace(run);
}

async function withSharing(run: CaseRun): Promise<void> {
  await withSpace(run);
  const { guid } = await getNamed(run, "spaces");
  await run.ground.api.admin.call("POST", await sharedPath(run), { data: [{ guid }] });
}

/** Also an app of that space, bound to the instance. */
async function withBoundApp(run: CaseRun): Promise<void> {
  await withSharing(run);
  const { admin } = run.ground.api;
  const [space, instance] = [await getNamed(run, "spaces"), await getNamed(run, "service_instances")];
  const app = await admin.call("POST", "/v3/apps", { name: run.name, relationships: { space: to(space.guid) } });
  const relationships = { app: to(app.guid), service_instance: to(instance.guid) };
  const { status } = await admin.send("POST", "/v3/service_credential_bindings", { type: "app", relationships });
  expect(status).toBe(202);
  await eventually(async () =>
    expect(await bindings(run)).toMatchObject([{ last_operation: { type: "create", state: "succeeded" } }]),
  );
}

async function bindings(run: CaseRun): Promise<Shown[]> {
  const { guid } = await getNamed(run, "service_instances");
  return (await read<Page<Shown>>(run, `/v3/service_credential_bindings?service_instance_guids=${guid}`)).resources;
}

const isSharedWithSpace = async (run: CaseRun): Promise<void> =>
  expect(await sharedWith(run)).toEqual([(await getNamed(run, "spaces")).guid]);
const isShared = async (run: CaseRun): Promise<void> => expect(await sharedWith(run)).toHaveLength(1);
const isNotShared = async (run: CaseRun): Promise<void> => expect(await sharedWith(run)).toEqual([]);

export const SHARED_SERVICE_CASES: readonly CommandCases[] = [
  {
    command: "share-service",
    cases: [
      {
        name: "with another space",
        as: "admin",
        given: withSpace,
        run: SHARE,
        shows: ["Sharing service instance {name} into org {org} / space {name} as admin", "OK"],
        effect: isSharedWithSpace,
      },
      {
        name: "again",
        as: "admin",
        given: withSharing,
        run: SHARE,
        shows: ["A service instance called {name} has already been shared", "OK"],
        effect: isShared,
      },
      {
        name: "with a space in which the person has no role",
        given: withSpace,
        run: SHARE,
        refused: ["Space '{name}' not found"],
        effect: isNotShared,
      },
      {
        name: "with its own space",
        as: "admin",
        given: withSpace,
        run: "share-service {name} -s {space}",
        refused: ["cannot be shared into the space where they were created"],
        effect: isNotShared,
      },
    ],
  },
  {
    command: "unshare-service",
    cases: [
      {
        name: "-f: bindings of apps there go, too",
        as: "admin",
        given: withBoundApp,
        run: "unshare-service {name} -s {name} -o {org} -f",
        shows: ["Unsharing service instance {name} from org {org} / space {name} as admin", "OK"],
        effect: async (run) => {
          await isNotShared(run);
          expect(await bindings(run)).toEqual([]);
          expect(brokerOf(run).requests("unbind")).toHaveLength(1);
        },
      },
      {
        name: "which is not confirmed",
        as: "admin",
        given: withSharing,
        run: "unshare-service {name} -s {name} -o {org}",
        input: "n\n",
        shows: ["Unshare cancelled"],
        effect: isShared,
      },
    ],
  },
  {
    command: "service",
    cases: [
      {
        name: "that is shared, with the number of its bindings there",
        as: "admin",
        given: withBoundApp,
        run: "service {name}",
        shows: [/Shared with spaces:\s+org\s+space\s+bindings\s+acme\s+service-\d+\s+1/],
        effect: isShared,
      },
    ],
  },
];

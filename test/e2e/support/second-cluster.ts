// A laptop's second cluster, which `npm run e2e -- --on clusters` asks for: the segment of every space chooses both.
import { SYSTEM_NAMESPACE } from "../../../crds/groups.ts";
import type { CommandResult, TestPlatform } from "./test-platform.ts";

const NAME = "west";

export function wantsSecondCluster(): boolean {
  return process.env["CUPOLA_E2E_ON"] === "clusters";
}

/** Most apps with one instance run there, since its weight is ten times that of `local`. @throws Error with what a command said */
export async function addSecondCluster({ cup, kubectl, url }: TestPlatform): Promise<void> {
  await succeed(cup("login", "--api", url));
  await succeed(cup("clusters", "add", NAME, "--here"));
  const weight = JSON.stringify({ spec: { weight: 1000 } });
  await succeed(kubectl("patch", "clusters.cupola.dev", NAME, "-n", SYSTEM_NAMESPACE, "--type=merge", "-p", weight));
  await succeed(cup("segments", "place", "shared", "--clusters", "all"));
}

/** How many of the processes and tasks that exist were placed there. */
export async function countOnSecondCluster({ kubectl }: TestPlatform): Promise<number> {
  const kinds = "placementdecisions.cupola.dev,tasks.cupola.dev";
  const { items } = JSON.parse(await succeed(kubectl("get", kinds, "-A", "-o", "json"))) as {
    items: { spec: { assignments?: { cluster: string }[] }; status?: { cluster?: string } }[];
  };
  return items.filter(
    ({ spec, status }) => status?.cluster === NAME || spec.assignments?.some(({ cluster }) => cluster === NAME),
  ).length;
}

async function succeed(command: Promise<CommandResult>): Promise<string> {
  const { code, output } = await command;
  if (code !== 0) throw new Error(`the second cluster: ${output}`);
  return output;
}

// The apps of the measurements: 10,000 in ten spaces; 50 of the first space are written, and meet 20 of 200 constraints.
import pLimit from "p-limit";
import { App } from "../../../crds/app/app.ts";
import { type BenchCluster, waitUntilIdle } from "../cluster/bench-cluster.ts";
import { makeSpaces, PARALLEL } from "../cluster/make-apps.ts";
import { until } from "../until.ts";
import { OWNED, RequiredLabels } from "./constraints.ts";

export const APPS = 10_000;
export const SPACES = 10;
export const WRITTEN = 50;

/** Spaces with apps: those of the first are written, and meet 20 constraints. */
export interface Apps {
  namespaces: string[];
  /** The first space, as `org/space`. */
  space: string;
  written: string[];
}

export const logProgress = (what: string): void => void process.stderr.write(`policy: ${what} …\n`);

/** Makes the spaces and the written apps with the platform's controllers, which give them claims, then the others without. */
export async function makePolicyApps(plane: BenchCluster): Promise<Apps> {
  logProgress(`${APPS} apps`);
  const platform = await plane.start(["controllers", "policies"]);
  const namespaces = await makeSpaces(plane.admin, "bench", SPACES);
  const [first = ""] = namespaces;
  await until(async () => (await plane.admin.list(RequiredLabels).catch(() => undefined)) !== undefined, "no kind");
  const limit = pLimit(PARALLEL);
  const create = (at: number) =>
    plane.admin.create(App, {
      metadata: { namespace: namespaces[at % SPACES] ?? "", name: `app-${at}`, labels: OWNED },
      spec: {},
    });
  const numbers = Array.from({ length: APPS }, (_, at) => at);
  const written = numbers.filter((at) => at % SPACES === 0).slice(0, WRITTEN);
  await Promise.all(written.map(create));
  await waitUntilIdle([platform]);
  await platform.stop();
  await Promise.all(numbers.filter((at) => !written.includes(at)).map((at) => limit(() => create(at))));
  return { namespaces, space: `bench/${first.replace(/^bench-/, "")}`, written: written.map((at) => `app-${at}`) };
}

// `npm run bench [-- --json] [-- --cluster] [part …]`: what Cupola costs, as ratios and counts of one run, held against its goals. Ends in one line with their count.
import { cpus, loadavg } from "node:os";
import { parseArgs } from "node:util";
import { closingLine } from "../../scripts/test-counts.ts";
import { measureCluster } from "./cluster/cluster.ts";
import { measureGates } from "./cluster/gates.ts";
import { measureSimulatedApps } from "./cluster/simulated-apps.ts";
import { measureStarts } from "./cluster/starts.ts";
import { measureClusters } from "./clusters/clusters.ts";
import { measureCreates } from "./creates.ts";
import { type Figure, figure, formatTable } from "./figure.ts";
import { measureIdle } from "./idle.ts";
import { measureLists } from "./lists/lists.ts";
import { measureLaptop } from "./laptop.ts";
import { measurePolicy } from "./policy/policy.ts";
import { measurePushes } from "./node/pushes.ts";
import { measureRouter } from "./router/router.ts";
import { measureReads } from "./reads.ts";
import { measureStartUp } from "./start-up.ts";
import { measureStockCf } from "./stock-cf.ts";
import { APPS, startThousandApps } from "./thousand-apps.ts";

const BENCHMARKS: Record<string, () => Promise<Figure[]>> = {
  cup: measureStartUp,
  laptop: measureLaptop,
  cf: measureStockCf,
  apps: measureThousandApps,
  creates: measureCreatesAlone,
  lists: measureLists,
  router: measureRouter,
  cluster: measureCluster,
  gates: measureGates,
  starts: measureStarts,
  kwok: measureSimulatedApps,
  clusters: measureClusters,
  policy: measurePolicy,
  push: measurePushes,
  node: async () => [...(await measurePushes()), ...(await measureGates()), ...(await measureStarts())],
};
/** Parts that are measured by default: `creates` is a part of `apps`; `--cluster` is the part that needs a real control plane. */
const DEFAULT_BENCHMARKS = ["cup", "laptop", "cf", "apps", "lists", "router"];

async function measureThousandApps(): Promise<Figure[]> {
  const apps = await startThousandApps();
  try {
    return [
      figure("memory per app (with its process and claim)", apps.bytesAdded / APPS / 1024, "KiB", { max: 16 }),
      figure("writes of the controllers per app made by kubectl", apps.writesPerApp, "writes"),
      ...(await measureReads(apps)),
      ...(await measureIdle(apps)),
      ...(await measureCreates(apps)),
    ];
  } finally {
    await apps.stop();
  }
}

async function measureCreatesAlone(): Promise<Figure[]> {
  const apps = await startThousandApps();
  try {
    return await measureCreates(apps);
  } finally {
    await apps.stop();
  }
}

/** A part that breaks is one failed figure, and the others are still measured. */
async function measure(part: string): Promise<Figure[]> {
  process.stderr.write(`measuring ${part} …\n`);
  try {
    return (await BENCHMARKS[part]?.()) ?? [];
  } catch (error) {
    process.stderr.write(`${part}: ${error instanceof Error ? error.stack : String(error)}\n`);
    return [{ name: `${part}: not measured, see above`, value: NaN, unit: "", goal: { max: 0 }, ok: false }];
  }
}

const { values, positionals } = parseArgs({
  options: { json: { type: "boolean", default: false }, cluster: { type: "boolean", default: false } },
  allowPositionals: true,
});
const wanted = [...positionals, ...(values.cluster ? ["cluster"] : [])];
if (wanted.length === 0) wanted.push(...DEFAULT_BENCHMARKS);
const unknown = wanted.filter((part) => !(part in BENCHMARKS));
if (unknown.length > 0)
  throw new Error(`unknown: ${unknown.join(", ")}. There are: ${Object.keys(BENCHMARKS).join(", ")}`);

const machine = { node: process.version, cores: cpus().length, loadBefore: Number((loadavg()[0] ?? 0).toFixed(2)) };
const figures: Figure[] = [];
for (const part of wanted) figures.push(...(await measure(part)));
const withGoal = figures.filter(({ goal }) => goal);
const count = {
  passed: withGoal.filter(({ ok }) => ok).length,
  failed: withGoal.filter(({ ok }) => !ok).length,
  skipped: 0,
};
if (values.json) console.log(JSON.stringify({ machine, figures }, null, 2));
else
  console.log(
    `Node ${machine.node}, ${machine.cores} cores, load before the run ${machine.loadBefore}\n${formatTable(figures)}`,
  );
console.log(closingLine(count));
process.exitCode = count.failed > 0 ? 1 : 0;

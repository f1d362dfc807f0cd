// `npm run chaos -- --seed N --runs N`: seeds N, N+1, …, each a load under faults on a real control plane, compared with the same load in calm.
// With --services people make and delete service instances instead, and the leader is killed at the calls to their broker.
// Ends in `diverged: N`; each divergence is printed with the seed that repeats it.
import { Command, InvalidArgumentError } from "commander";
import { whyNoControlPlane } from "../cluster/binaries.ts";
import { findLeftovers } from "./leftovers.ts";
import { runBaseline, runChaos, type BaselineRun } from "./run.ts";
import { planSchedule, type Schedule } from "./schedule.ts";
import { runServiceChaos } from "./services/run-services.ts";
import { planServiceSchedule } from "./services/service-schedule.ts";
import { startServiceWorld, type ServiceWorld } from "./services/service-world.ts";
import { startChaosEnv, type ChaosEnv } from "./test-env.ts";

interface Options {
  clusters?: boolean;
  seed: number;
  runs: number;
  keep?: boolean;
  plan?: boolean;
  services?: boolean;
}

const {
  clusters = false,
  seed,
  runs,
  keep = false,
  plan = false,
  services = false,
} = new Command()
  .option("--seed <n>", "the first seed", parseInteger, 1)
  .option("--runs <n>", "how many seeds", parseInteger, 1)
  .option("--clusters", "a hub and two spokes on embedded servers: apps and clusters under faults")
  .option("--keep", "leave the replicas' logs behind")
  .option("--services", "instances and keys of a service broker, and kills of the leader that asks it")
  .option("--plan", "print what the seeds mean, and do nothing")
  .parse()
  .opts<Options>();

function parseInteger(text: string): number {
  const number = Number(text);
  if (!Number.isInteger(number) || number < 0) throw new InvalidArgumentError("a whole number.");
  return number;
}

/** Calm runs go side by side, and only so many. */
const BATCH = 3;
const schedules = Array.from({ length: runs }, (_, at) => planSchedule(seed + at));

async function runAll(chaosEnv: ChaosEnv): Promise<number> {
  let diverged = 0;
  for (let from = 0; from < schedules.length; from += BATCH) {
    const batch = schedules.slice(from, from + BATCH);
    const baselines = await Promise.all(
      batch.map((schedule) => runBaseline(chaosEnv, schedule).catch((error: unknown) => error)),
    );
    for (const [at, schedule] of batch.entries()) diverged += await runOne(chaosEnv, schedule, baselines[at]);
  }
  const leftovers = await findLeftovers(chaosEnv.kube, chaosEnv.finishedRuns);
  for (const line of leftovers.slice(0, 50)) console.log(`left behind: ${line}`);
  return diverged + (leftovers.length > 0 ? 1 : 0);
}

/** 1 when it diverged. */
async function runOne(chaosEnv: ChaosEnv, schedule: Schedule, baseline: unknown): Promise<number> {
  try {
    if (!isBaseline(baseline)) throw baseline;
    await baseline.deleteOrg();
    const { faults, tookMs, deleteOrg } = await runChaos(chaosEnv, schedule, baseline);
    const what = [...new Set(schedule.faults.map((fault) => fault.what))].join(" ");
    console.log(
      `seed ${schedule.seed}: ${faults.length === 0 ? "as in calm" : "DIVERGED"} in ${(tookMs / 1000).toFixed(1)} s (${what})`,
    );
    for (const fault of faults) console.log(fault);
    if (faults.length > 0) console.log(`again: npm run chaos -- --seed ${schedule.seed} --runs 1`);
    await deleteOrg();
    return faults.length > 0 ? 1 : 0;
  } catch (error) {
    console.log(
      `seed ${schedule.seed}: DIVERGED even in calm: ${error instanceof Error ? error.message : String(error)}`,
    );
    return 1;
  }
}

function isBaseline(value: unknown): value is BaselineRun {
  return value !== null && typeof value === "object" && "lines" in value;
}

/** Prints seeds with services as they end; the number of those that diverged. */
async function runServices(world: ServiceWorld): Promise<number> {
  let diverged = 0;
  for (const { seed: each } of schedules) {
    const started = performance.now();
    const { faults, kills } = await runServiceChaos(world, each);
    const seconds = ((performance.now() - started) / 1000).toFixed(1);
    const outcome = faults.length === 0 ? "nothing doubled, nothing orphaned" : "DIVERGED";
    console.log(`seed ${each}: ${outcome} in ${seconds} s (killed at ${kills.join(", ") || "no call"})`);
    for (const fault of faults) console.log(fault);
    if (faults.length > 0) console.log(`again: npm run chaos -- --services --seed ${each} --runs 1`);
    diverged += faults.length > 0 ? 1 : 0;
  }
  return diverged;
}

/** The world with what runs in it. */
async function startWorld(): Promise<{ stop: () => Promise<void>; dir: string; run: () => Promise<number> }> {
  if (services) {
    const world = await startServiceWorld(keep);
    return { stop: world.stop, dir: world.env.dir, run: () => runServices(world) };
  }
  const env = await startChaosEnv({ keep });
  return { stop: env.stop, dir: env.dir, run: () => runAll(env) };
}

if (clusters) {
  const { runClusterSeeds } = await import("./clusters/cluster-run.ts");
  const diverged = await runClusterSeeds(seed, runs);
  console.log(`diverged: ${diverged}`);
  process.exitCode = diverged > 0 ? 1 : 0;
} else if (plan)
  for (const schedule of schedules)
    console.log(JSON.stringify(services ? planServiceSchedule(schedule.seed) : schedule, undefined, 1));
else {
  const reason = whyNoControlPlane();
  if (reason) throw new Error(`chaos needs a real control plane: ${reason}`);
  const world = await startWorld();
  for (const signal of ["SIGINT", "SIGTERM"] as const)
    process.once(signal, () => void world.stop().then(() => process.exit(1)));
  if (keep) console.log(`logs: ${world.dir}`);
  try {
    const diverged = await world.run();
    console.log(`diverged: ${diverged}`);
    process.exitCode = diverged > 0 ? 1 : 0;
  } finally {
    await world.stop();
  }
}

// `npm run chaos:node -- --seed N --runs N`: seeds N, N+1, …, each a developer's work on a real node while parts of platform and node are killed.
// Ends in `diverged: N`; each divergence is printed with the seed that repeats it.
import { Command, InvalidArgumentError } from "commander";
import { whyNoNode } from "../../cluster/node/requirements.ts";
import { whyNoCf } from "../../e2e/support/cf.ts";
import { planNodeSchedule } from "./node-schedule.ts";
import { startNodeWorld } from "./node-world.ts";
import { runNodeChaos } from "./run-node-chaos.ts";

const { seed, runs, replicas, plan } = new Command()
  .option("--seed <n>", "the first seed", parseInteger, 1)
  .option("--runs <n>", "how many seeds", parseInteger, 1)
  .option("--replicas <n>", "of each part of the platform", parseInteger, 2)
  .option("--plan", "print what the seeds mean, and do nothing")
  .parse()
  .opts<{ seed: number; runs: number; replicas: number; plan?: boolean }>();

function parseInteger(text: string): number {
  const number = Number(text);
  if (!Number.isInteger(number) || number < 0) throw new InvalidArgumentError("a whole number.");
  return number;
}

const seeds = Array.from({ length: runs }, (_, at) => seed + at);

async function runSeeds(): Promise<number> {
  const world = await startNodeWorld(replicas);
  let diverged = 0;
  try {
    for (const each of seeds) {
      const started = performance.now();
      const failures = await runNodeChaos(world, each);
      const killed = planNodeSchedule(each).faults.map(({ what }) => what);
      const seconds = Math.round((performance.now() - started) / 1000);
      console.log(
        `seed ${each}: ${failures.length === 0 ? "converged" : "DIVERGED"} in ${seconds} s (${killed.join(" ")})`,
      );
      for (const failure of failures) console.log(failure);
      if (failures.length > 0) console.log(`again: npm run chaos:node -- --seed ${each}`);
      diverged += failures.length > 0 ? 1 : 0;
    }
  } finally {
    await world.stage.stop();
  }
  return diverged;
}

if (plan) for (const each of seeds) console.log(JSON.stringify(planNodeSchedule(each), undefined, 1));
else {
  const reason = whyNoNode() ?? whyNoCf();
  if (reason) throw new Error(`chaos on a node is not possible here: ${reason}`);
  const diverged = await runSeeds();
  console.log(`diverged: ${diverged}`);
  process.exit(diverged > 0 ? 1 : 0);
}

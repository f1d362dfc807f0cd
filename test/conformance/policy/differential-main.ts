// `npm run policy:differential -- --seed N --writes N`: random constraints and writes at a real kube-apiserver and our evaluator. Ends in `differences: N`.
import { Command, InvalidArgumentError } from "commander";
import { runDifferential } from "./differential.ts";
import { NAMESPACES } from "./places.ts";
import { startPolicyWorld } from "./policy-world.ts";

function whole(text: string): number {
  const number = Number(text);
  if (!Number.isSafeInteger(number) || number < 0) throw new InvalidArgumentError("a whole number, 0 or more");
  return number;
}

const { seed, writes } = new Command("policy:differential")
  .description("Compares verdicts and sentences of operator policy with a real kube-apiserver.")
  .option("--seed <n>", "which constraints and writes", whole, 1)
  .option("--writes <n>", "how many writes are judged, by 12 constraints each", whole, 10_000)
  .parse()
  .opts<{ seed: number; writes: number }>();

const world = await startPolicyWorld(NAMESPACES);
try {
  const started = performance.now();
  const { differences, ...counts } = await runDifferential(world, {
    seed,
    writes,
    onProgress: (done) => {
      if (done % 2000 === 0) console.log(`${done} of ${writes}`);
    },
  });
  for (const one of differences.slice(0, 10)) console.log(JSON.stringify(one, null, 1));
  const seconds = (performance.now() - started) / 1000;
  console.log(
    `seed ${seed}: ${counts.writes} writes in ${seconds.toFixed(1)} s, ${counts.denied} denied, ${counts.warnings} warnings, ${counts.invalid} more that the schema refuses`,
  );
  console.log(`differences: ${differences.length}`);
  process.exitCode = differences.length > 0 ? 1 : 0;
} finally {
  await world.stop();
}

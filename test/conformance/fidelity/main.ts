// `npm run fidelity -- --seed N --sequences N [--first N] [--kinds A,B] [--shrink N]`: random writes at both servers. Ends in one line with the number of differences.
import { parseArgs } from "node:util";
import { describeDifference } from "./compare.ts";
import { fuzz } from "./fuzz.ts";
import { startServers } from "./servers.ts";
import { describeStep } from "./step.ts";

const { values } = parseArgs({
  options: {
    seed: { type: "string", default: "1" },
    sequences: { type: "string", default: "500" },
    first: { type: "string", default: "0" },
    kinds: { type: "string" },
    shrink: { type: "string", default: "5" },
    parallel: { type: "string", default: "16" },
  },
});
const number = (text: string, name: string) => {
  const value = Number(text);
  if (!Number.isSafeInteger(value) || value < 0) throw new Error(`--${name} must be a whole number, not ${text}`);
  return value;
};

const seed = number(values.seed, "seed");
const sequences = number(values.sequences, "sequences");
const servers = await startServers();
const started = performance.now();
try {
  const result = await fuzz(servers, {
    seed,
    sequences,
    first: number(values.first, "first"),
    shrunk: number(values.shrink, "shrink"),
    parallel: number(values.parallel, "parallel"),
    ...(values.kinds && { kinds: values.kinds.split(",") }),
    onProgress: (done) => {
      if (done % 1_000 === 0)
        console.error(
          `${done} of ${sequences} sequences, ${(done / ((performance.now() - started) / 1000)).toFixed(1)} a second`,
        );
    },
  });
  for (const { signature, count, index, steps, difference } of result.findings) {
    console.log(
      `\n${count} × ${signature}\n  --seed ${seed} --first ${index} --sequences 1${values.kinds ? ` --kinds ${values.kinds}` : ""}`,
    );
    console.log(
      steps
        .slice(0, difference.at + 1)
        .map((step, at) => `  ${at}. ${describeStep(step)}`)
        .join("\n"),
    );
    console.log(describeDifference(difference));
  }
  for (const [name, count] of result.explained) console.log(`explained: ${count} × ${name}`);
  console.log(
    `${result.sequences} sequences, ${result.steps} steps in ${((performance.now() - started) / 1000).toFixed(0)} s; seed ${seed}`,
  );
  console.log(`differences: ${result.differences}`);
  process.exitCode = result.differences > 0 ? 1 : 0;
} finally {
  await servers.stop();
}

// `npm run fuzz:api -- --seed N --requests N`: requests generated from the OpenAPI document. Ends in `faults: N`.
import { Command, InvalidArgumentError } from "commander";
import { fuzzApi, type FuzzResult } from "./fuzz.ts";

function whole(text: string): number {
  const number = Number(text);
  if (!Number.isSafeInteger(number) || number < 0) throw new InvalidArgumentError("a whole number, 0 or more");
  return number;
}

const options = new Command("fuzz-api")
  .description(
    "Sends generated requests to the API: no 500, no hang, no answer that is not as its schema, no other space's data.",
  )
  .option("--seed <n>", "which requests", whole, 1)
  .option("--requests <n>", "how many", whole, 100_000)
  .option("--first <n>", "number of the first one, to run in parts", whole, 0)
  .option("--seconds <n>", "stop after so many, at the next five hundred requests", whole)
  .parse()
  .opts<{ seed: number; requests: number; first: number; seconds?: number }>();

/** The share of successes by operation, lowest first; with the commonest refusals of those that never succeeded. */
function printShares(operations: FuzzResult["operations"]): void {
  const rows = Object.entries(operations).sort(([, one], [, other]) => shareOf(one) - shareOf(other));
  for (const [operation, seen] of rows.filter(([, one]) => shareOf(one) < 0.2)) {
    console.log(`${(100 * shareOf(seen)).toFixed(0).padStart(4)} % of ${seen.answers}: ${operation}`);
    const refusals = Object.entries(seen.refusals).sort(([, one], [, other]) => other - one);
    if (seen.successes === 0)
      for (const [detail, count] of refusals.slice(0, 3)) console.log(`         ${count} x ${detail}`);
  }
  const all = rows.map(([, seen]) => seen);
  const never = all.filter(({ successes }) => successes === 0).length;
  const total = all.reduce((sum, { answers }) => sum + answers, 0);
  const successes = all.reduce((sum, one) => sum + one.successes, 0);
  console.log(`${successes} of ${total} answers were successes; ${never} of ${all.length} operations never succeeded`);
}

function shareOf({ answers, successes }: { answers: number; successes: number }): number {
  return successes / Math.max(1, answers);
}

const started = performance.now();
const seconds = (): number => (performance.now() - started) / 1000;
let told = 0;
let sent = 0;
const { statuses, operations, faults } = await fuzzApi({
  ...options,
  onProgress: (done) => {
    sent = done;
    if (seconds() - told < 10) return;
    told = seconds();
    console.log(`${done} of ${options.requests}`);
  },
});
for (const { what, example, count } of faults.slice(0, 40)) console.log(`${count} x ${what}\n    ${example}`);
console.log(
  `seed ${options.seed}: ${sent} requests from ${options.first} in ${seconds().toFixed(0)} s, ${JSON.stringify(statuses)}`,
);
printShares(operations);
console.log(`faults: ${faults.length}`);
process.exitCode = faults.length > 0 ? 1 : 0;

// `npm run fuzz:api -- --seed N --requests N`: requests generated from the OpenAPI document. Ends in `faults: N`.
import { Command, InvalidArgumentError } from "commander";
import { fuzzApi } from "./fuzz.ts";

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
  .parse()
  .opts<{ seed: number; requests: number; first: number }>();

const started = performance.now();
const seconds = (): number => (performance.now() - started) / 1000;
let told = 0;
const { statuses, faults } = await fuzzApi({
  ...options,
  onProgress: (done) => {
    if (seconds() - told < 10) return;
    told = seconds();
    console.log(`${done} of ${options.requests}`);
  },
});
for (const { what, example, count } of faults.slice(0, 40)) console.log(`${count} x ${what}\n    ${example}`);
console.log(
  `seed ${options.seed}: ${options.requests} requests in ${seconds().toFixed(0)} s, ${JSON.stringify(statuses)}`,
);
console.log(`faults: ${faults.length}`);
process.exitCode = faults.length > 0 ? 1 : 0;

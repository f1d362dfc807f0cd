// Waiting times of stock `cf` on a laptop. cf asks every 3 s whether a build, a start or a job is over, so a late answer costs a poll.
import { join } from "node:path";
import { cfOn, whyNoCf } from "../e2e/support/cf.ts";
import { startTestPlatform } from "../e2e/support/start-test-platform.ts";
import { type Figure, figure, median } from "./figure.ts";

const HELLO = join(import.meta.dirname, "..", "..", "examples", "hello");
const TURNS = 3;
/** Seconds. cf's pause of 3 s between polls fits into none but the push. */
const GOALS = {
  "cf push of the example app": 4,
  "cf restage of it": 3,
  "cf restart of it": 2,
  "cf delete-org of an org with it": 1,
};
type Times = Record<keyof typeof GOALS, number>;

/** Figures of seconds, medians; none where there is no cf v8. */
export async function measureStockCf(): Promise<Figure[]> {
  const reason = whyNoCf();
  if (reason) {
    process.stderr.write(`cf: skipped, ${reason}\n`);
    return [];
  }
  const laptop = await startTestPlatform();
  try {
    const run = cfOn(laptop);
    const cf = async (...args: string[]): Promise<number> => {
      const start = performance.now();
      const { code, output } = await run(...args);
      if (code !== 0) throw new Error(`cf ${args.join(" ")} ended with ${code}: ${output}`);
      return (performance.now() - start) / 1000;
    };
    await cf("api", laptop.url);
    await cf("auth", "admin");
    const turns: Times[] = [];
    for (let turn = 1; turn <= TURNS; turn++) turns.push(await measureOrg(cf, `bench-${turn}`));
    return (Object.keys(GOALS) as (keyof Times)[]).map((name) =>
      figure(name, median(turns.map((times) => times[name])), "s", { max: GOALS[name] }),
    );
  } finally {
    await laptop.stop();
  }
}

/** An org's life: the example app is pushed, restaged and restarted in it, and goes with it. */
async function measureOrg(cf: (...args: string[]) => Promise<number>, org: string): Promise<Times> {
  await cf("create-org", org);
  await cf("create-space", "dev", "-o", org);
  await cf("target", "-o", org, "-s", "dev");
  return {
    "cf push of the example app": await cf("push", `hello-${org}`, "-p", HELLO, "-m", "128M"),
    "cf restage of it": await cf("restage", `hello-${org}`),
    "cf restart of it": await cf("restart", `hello-${org}`),
    "cf delete-org of an org with it": await cf("delete-org", "-f", org),
  };
}

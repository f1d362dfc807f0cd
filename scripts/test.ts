// `npm test`: static checks, unit and contract tests and two journeys, on Node alone. `npm run test:all` (`--all`): every check. Lanes, of which two run at a time, and one closing line with the sum of their tests.
import { existsSync } from "node:fs";
import { join } from "node:path";
import pLimit from "p-limit";
import { provideBinaries, provideBinary, whyNoControlPlane } from "../test/cluster/binaries.ts";
import { startNode } from "../test/cluster/node/node.ts";
import { provideNodePrograms, whyNoNode } from "../test/cluster/node/requirements.ts";
import { changedFiles, isTypeScript } from "./changed-files.ts";
import { lintAll, lintFiles, lintWithoutTypes } from "./lint.ts";
import { bin, cache, root, runCheck, TYPE_CHECK } from "./run-check.ts";
import { runCommand } from "./run-command.ts";
import { runVitest } from "./run-vitest.ts";
import { closingLine, closingLines, NOTHING, parseClosingLines, sum, type Count } from "./test-counts.ts";

/** A stage runs to its end whatever the earlier ones said, so that one run shows every fault. */
interface Stage {
  name: string;
  /** The file it runs, where that may not be there yet. */
  needs?: string;
  run(): Promise<Outcome>;
}

interface Outcome extends Count {
  /** Printed when the stage has ended, in one piece, since another stage prints meanwhile. */
  output?: string;
}

const minute = 60_000;
const isAll = process.argv.includes("--all");
/** In `npm test` tools skip unchanged files. */
const cached = (...options: string[]) => (isAll ? [] : options);

/** Has the binaries ready before any test waits for them: the first build takes minutes. */
async function provideControlPlane(): Promise<Outcome> {
  const reason = whyNoControlPlane();
  if (!reason) {
    await provideBinaries();
    return { ...NOTHING, passed: 1 };
  }
  const output = `no real control plane: ${reason}. What needs one is skipped.`;
  return process.env.CI ? { ...NOTHING, failed: 1, output } : { ...NOTHING, skipped: 1, output };
}

/** Builds what a node and its tests need, and starts a node once: not every machine that has root lets one run. */
async function tryNode(): Promise<Outcome> {
  nodeProblem = whyNoNode() ?? (await startNodeOnce());
  if (!nodeProblem) return { ...NOTHING, passed: 1 };
  return { ...NOTHING, skipped: 1, output: `no node: ${nodeProblem}. Tests on a node are skipped.` };
}
let nodeProblem: string | undefined;

async function startNodeOnce(): Promise<string | undefined> {
  try {
    await provideNodePrograms();
    for (const name of ["lifecycle", "launcher", "traefik", "helm"] as const) await provideBinary(name);
    const node = await startNode();
    await node.stop();
    return undefined;
  } catch (error) {
    return `it does not start on this machine: ${error instanceof Error ? error.message : String(error)}`;
  }
}

/** A stage that needs a node. */
function onNode(run: () => Promise<Outcome>): () => Promise<Outcome> {
  return () => (nodeProblem ? Promise.resolve({ ...NOTHING, skipped: 1 }) : run());
}

/** Its output is shown only when it fails, also at first. */
async function vitest(...selection: string[]): Promise<Outcome> {
  const { count, output, hasFailed } = await runVitest({
    args: ["--reporter=default", ...selection],
    files: [],
    options: { cwd: root, deadlineMs: 40 * minute },
  });
  return { ...count, ...((hasFailed || count.flaky.length > 0) && { output }) };
}

async function journeys(...args: string[]): Promise<Outcome> {
  const { code, output } = await runCommand([process.execPath, "test/e2e/main.ts", ...args], {
    cwd: root,
    deadlineMs: 40 * minute,
    // `npm test` sends only those recorded cases of cf that add something to the others.
    ...(!isAll && { env: { CUPOLA_REPLAY: "fewest" } }),
  });
  const count = parseClosingLines(output);
  if (!count) return { ...NOTHING, failed: 1, output };
  return { ...count, failed: count.failed + (code !== 0 && count.failed === 0 ? 1 : 0), output };
}

/** The cheap ones; all of them run by `npm run e2e -- --on cluster`. */
const CLUSTER_JOURNEYS = ["cup.e2e", "races.e2e", "policy.e2e"];

/** Seeds 1 to 3 take a minute; `npm run chaos` runs as many as asked. */
const CHAOS_RUNS = 3;

/** Each seed is a test. */
async function chaos(): Promise<Outcome> {
  const reason = whyNoControlPlane();
  if (reason) return process.env.CI ? { ...NOTHING, failed: CHAOS_RUNS } : { ...NOTHING, skipped: CHAOS_RUNS };
  const outcome = await runChaos();
  if (outcome.failed === 0 || !process.env.CI) return outcome;
  // As tests with real servers: once more, and named.
  const again = await runChaos();
  const flaky = /^seed .*DIVERGED.*$/m.exec(outcome.output ?? "")?.[0] ?? "chaos";
  return { ...again, ...(again.failed === 0 && { flaky: [flaky] }), output: `${outcome.output}\n${again.output}` };
}

async function runChaos(): Promise<Outcome> {
  const { output } = await runCommand(
    [process.execPath, "test/chaos/main.ts", "--seed", "1", "--runs", String(CHAOS_RUNS)],
    { cwd: root, deadlineMs: 20 * minute },
  );
  const diverged = Number(/^diverged: (\d+)$/m.exec(output)?.[1] ?? CHAOS_RUNS);
  return { ...NOTHING, passed: Math.max(CHAOS_RUNS - diverged, 0), failed: diverged, output };
}

/** Stages that run one after another. */
type Lane = Stage[];

/** Programs that other stages of `test:all` need. */
const programs: Lane = [
  { name: "control plane binaries", run: provideControlPlane },
  { name: "a node", run: tryNode },
];

/** Each only reads the sources, and is one thread for most of its time. */
const checks: Lane[] = [
  isAll
    ? [{ name: "lint", run: lintAll }]
    : [
        { name: "lint", run: lintWithoutTypes },
        {
          name: "lint by types, of changed files",
          run: async () => lintFiles((await changedFiles()).files.filter(isTypeScript)),
        },
      ],
  [
    {
      name: "type check",
      run: () => runCheck(TYPE_CHECK),
    },
  ],
  [
    {
      name: "format",
      run: () =>
        runCheck([
          bin("prettier"),
          "--check",
          "--log-level=warn",
          ...cached("--cache", "--cache-location", cache("prettier.json")),
          ".",
        ]),
    },
  ],
  [{ name: "unused files, exports and dependencies", run: () => runCheck([bin("knip"), "--no-progress"]) }],
  [
    {
      name: "generated files up to date",
      needs: "scripts/gen.ts",
      run: () => runCheck([process.execPath, "scripts/gen.ts", "--check"]),
    },
  ],
];

// Servers are waited for more than two cores can fill.
const servers = (...projects: string[]) => vitest(...projects.map((name) => `--project=${name}`), "--maxWorkers=3");
const journeyStage = (name: string, ...args: string[]): Stage => ({
  name,
  needs: "test/e2e/main.ts",
  run: () => journeys(...args),
});

/** `cup`, and the recorded requests of stock `cf`. */
const CORE_JOURNEYS = ["cup.e2e", "cf-replay.e2e"];

/** The longest first; the checks fill the time in which these wait. */
const core: Lane[] = [
  [{ name: "contract tests", run: () => servers("contract") }],
  [journeyStage("core journeys", ...CORE_JOURNEYS)],
  ...checks,
  [{ name: "unit tests", run: () => vitest("--project=unit") }],
];

/** The node's lane is first: it is the longest, and since it mostly waits for pods, it leaves the processors to the other. */
const all: Lane[] = [
  [
    { name: "tests on a node", run: onNode(() => vitest("--project=node")) },
    { name: "journeys on a node", needs: "test/e2e/main.ts", run: onNode(() => journeys("--on", "node")) },
  ],
  [
    { name: "unit tests", run: () => vitest("--project=unit") },
    { name: "contract tests", run: () => servers("contract", "slow", "cluster") },
  ],
  [
    journeyStage("end-to-end journeys"),
    journeyStage("journeys on a real control plane", "--on", "cluster", ...CLUSTER_JOURNEYS),
    { name: "chaos", needs: "test/chaos/main.ts", run: chaos },
  ],
];

/** Runs a stage and prints its output and counts; a stage that throws has failed. */
async function runStage(stage: Stage): Promise<Count> {
  console.log(`== ${stage.name}`);
  const started = Date.now();
  const { output, ...count } = await stage.run().catch((error: unknown): Outcome => {
    return { ...NOTHING, failed: 1, output: String(error instanceof Error ? error.stack : error) };
  });
  if (output) console.log(output);
  console.log(`== ${stage.name}: ${closingLine(count)} (${((Date.now() - started) / 1000).toFixed(1)} s)`);
  return count;
}

async function runLane(lane: Lane): Promise<Count> {
  const counts: Count[] = [];
  for (const stage of lane) if (!stage.needs || existsSync(join(root, stage.needs))) counts.push(await runStage(stage));
  return sum(counts);
}

async function runLanes(lanes: Lane[]): Promise<Count> {
  const twoAtATime = pLimit(2);
  return sum(await Promise.all(lanes.map((lane) => twoAtATime(runLane, lane))));
}

const lanes = isAll ? [[programs, ...checks], all] : [core];
const counts: Count[] = [];
for (const each of lanes) counts.push(await runLanes(each));
const total = sum(counts);
console.log(`\n${closingLines(total)}`);
process.exitCode = total.failed > 0 ? 1 : 0;

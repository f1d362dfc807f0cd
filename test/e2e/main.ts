// `npm run e2e -- --on laptop|clusters|cluster|node [--cf PATH] [--from REVISION] [--replicas N] [--only PATTERN] [journey …]`: the journeys alone. Ends in one line with their count.
import { join } from "node:path";
import { Command, Option } from "commander";
import { runVitest } from "../../scripts/run-vitest.ts";
import { closingLine, closingLines, NOTHING } from "../../scripts/test-counts.ts";
import { whyNoControlPlane } from "../cluster/binaries.ts";
import { whyNoNode } from "../cluster/node/requirements.ts";
import { SHARED_PLATFORM, sharePlatform } from "./support/shared-platform.ts";

const program = new Command()
  .addOption(
    new Option("--on <place>", "where the platform runs")
      .choices(["laptop", "clusters", "cluster", "node"])
      .default("laptop"),
  )
  .option("--cf <path>", "a stock cf v8 (default: CF_BIN, else cf on the path)")
  .option("--from <revision>", "the commit that the journey upgrade begins with (default: the newest tag)")
  .option("--replicas <number>", "of the API and of the controllers, on a node (default: 1)")
  .option("--only <pattern>", "the tests of them whose titles match")
  .argument("[journeys...]", "names of journeys; all unless said")
  .parse();
const { on, cf, only, from, replicas } = program.opts<{
  on: "laptop" | "clusters" | "cluster" | "node";
  cf?: string;
  only?: string;
  from?: string;
  replicas?: string;
}>();
const names = program.args;

/** Journeys of `npm run test:all` there. By name: cf.e2e, cup.e2e, and node-traffic.e2e, which takes a quarter of an hour. */
const NODE_JOURNEYS = ["node.e2e"];

const OWN_PLATFORM = /^(node|kill|deployments|ssh-images|take-over|upgrade)/;

const reason = { laptop: () => undefined, clusters: () => undefined, cluster: whyNoControlPlane, node: whyNoNode }[
  on
]();
if (reason) {
  console.log(`no ${on} to run them on: ${reason}`);
  console.log(closingLine(process.env["CI"] ? { ...NOTHING, failed: 1 } : { ...NOTHING, skipped: 1 }));
  process.exit(process.env["CI"] ? 1 : 0);
}
// Those that install, upgrade or kill have a platform of their own.
const isSeveral = names.length > 1 || names[0] === "cf/" || replicas !== undefined;
const isShared = on === "node" && isSeveral && !names.some((name) => OWN_PLATFORM.test(name));
const shared = isShared
  ? await sharePlatform({
      languages: names.includes("sources"),
      metricsServer: names.includes("operators-day"),
      ...(replicas !== undefined && { coreReplicas: Number(replicas) }),
    })
  : undefined;
const { count } = await runVitest({
  args: [
    "--config",
    "test/e2e/vitest.config.ts",
    "--reporter=verbose",
    ...(only === undefined ? [] : [`--testNamePattern=${only}`]),
  ],
  files: names.length === 0 && on === "node" ? NODE_JOURNEYS : names,
  options: {
    cwd: join(import.meta.dirname, "..", ".."),
    deadlineMs: 60 * 60_000,
    echo: true,
    env: {
      CUPOLA_E2E_ON: on,
      CUPOLA_E2E_NAMES: names.join(),
      ...(shared && { [SHARED_PLATFORM]: shared.file }),
      ...(cf && { CF_BIN: cf }),
      ...(from && { CUPOLA_UPGRADE_FROM: from }),
    },
  },
}).finally(() => shared?.stop());
console.log(closingLines(count));
process.exitCode = count.failed > 0 ? 1 : 0;

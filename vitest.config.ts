// Four projects by what a test needs: `unit` only the sources, `contract` servers that take seconds to start, `node` a Kubernetes that runs pods, `e2e` a whole platform.
import { defineConfig } from "vitest/config";

const sources = "{kube,crds,api,controllers,backends,blobs,telemetry,platform,local,cli,scripts}/**";
/** Beside the sources, too, but with real servers, processes or files for seconds. */
const contractTests = "**/*.contract.test.ts";
/** On a complete Kubernetes of test/cluster/node, which needs root on Linux. */
const nodeTests = "**/*.node.test.ts";

/** By name only, `npm run test:kpack`: kpack takes a quarter of an hour to build. */
const isOfKpack = process.argv.some((arg) => arg.includes("kpack.node"));

/** On CI, a test with real servers that fails is run once more; `npm test` names those that passed then. */
const retry = process.env["CI"] ? 1 : 0;

const shared = {
  globalSetup: "test/scratch-folder.ts",
  pool: "forks",
  testTimeout: 30_000,
  hookTimeout: 120_000,
} as const;

export default defineConfig({
  test: {
    maxWorkers: 2,
    projects: [
      {
        test: {
          ...shared,
          name: "unit",
          // Files share modules, which saves a third of the time; so no test may leave global state behind.
          isolate: false,
          include: [`${sources}/*.test.ts`, "test/{layout,bench}/**/*.test.ts"],
          exclude: [contractTests, nodeTests],
        },
      },
      {
        test: {
          ...shared,
          name: "contract",
          retry,
          // Another lane of `npm test` runs beside this one; `eventually` reports after 30 s what it waited for.
          testTimeout: 60_000,
          include: [`${sources}/*.contract.test.ts`, "test/{conformance,cluster,chaos}/**/*.test.ts"],
          exclude: [nodeTests],
        },
      },
      {
        test: {
          ...shared,
          name: "node",
          retry,
          include: [nodeTests],
          exclude: ["node_modules/**", ...(isOfKpack ? [] : ["**/kpack.node.test.ts"])],
          // Each file starts a node of its own.
          fileParallelism: false,
          testTimeout: 120_000,
        },
      },
      "test/e2e/vitest.config.ts",
    ],
  },
});

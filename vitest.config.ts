// Projects by what a test needs: `unit` the sources, `contract` embedded servers, `slow` minutes of them, `cluster` programs beyond Node, `node` a Kubernetes that runs pods, `e2e` a platform. `npm test` runs `unit`, `contract` and two journeys.
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";

const sources = "{kube,crds,api,controllers,backends,blobs,telemetry,platform,local,cli,scripts}/**";
/** Beside the sources, too, but with real servers, processes or files for seconds. */
const contractTests = "**/*.contract.test.ts";
/** Embedded servers, too, for long: `npm run test:all`. */
const slowTests = "**/*.slow.test.ts";

const textOf = (path: string): string => readFileSync(join(import.meta.dirname, path), "utf8");

/** Files that ask whether this machine has a control plane, a registry or helm. */
const clusterTests = globSync("test/**/*.test.ts", { cwd: import.meta.dirname }).filter(
  (path) => !path.endsWith(".node.test.ts") && /\bwhyNo(ControlPlane|Registry|Binaries)\(/.test(textOf(path)),
);
/** Those of them that skip nothing without one: `contract` runs their half on the embedded server. */
const halfEmbedded = clusterTests.filter(
  (path) => !/\bskip(If)?\(reason|test\.skip\(|skipIf\(whyNo/.test(textOf(path)),
);
const clusterOnly = clusterTests.filter((path) => !halfEmbedded.includes(path));

/** On a complete Kubernetes of test/cluster/node, which needs root on Linux. */
const nodeTests = "**/*.node.test.ts";

/** By name only, `npm run test:clusters`: several clusters that are each a real kube-apiserver. */
const worlds = globSync("test/conformance/clusters/*.test.ts", { cwd: import.meta.dirname }).filter((path) =>
  /\bstartWorld\(/.test(textOf(path)),
);

/** By name only, `npm run test:kpack`: kpack takes a quarter of an hour to build. */
const isOfKpack = process.argv.some((arg) => arg.includes("kpack.node"));

/** On CI, a test with real servers that fails is run once more; `npm test` names those that passed then. */
const retry = process.env["CI"] ? 1 : 0;

/** Without times of an earlier run vitest begins with the largest files. Suites of half a minute whose rows are in other files would come last. */
const isSuiteOfRows = ({ moduleId }: TestSpecification): boolean => moduleId.endsWith("/embedded.test.ts");
class SuitesFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    return [...sorted.filter(isSuiteOfRows), ...sorted.filter((file) => !isSuiteOfRows(file))];
  }
}

const shared = {
  globalSetup: "test/scratch-folder.ts",
  pool: "forks",
  testTimeout: 30_000,
  hookTimeout: 120_000,
} as const;

export default defineConfig({
  test: {
    maxWorkers: 2,
    sequence: { sequencer: SuitesFirst },
    projects: [
      {
        test: {
          ...shared,
          name: "unit",
          // Files share modules, which saves a third of the time; so no test may leave global state behind.
          isolate: false,
          include: [`${sources}/*.test.ts`, "test/{layout,bench}/**/*.test.ts"],
          exclude: [contractTests, slowTests, nodeTests],
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
          exclude: [slowTests, nodeTests, ...clusterOnly],
          env: { CUPOLA_CONTROL_PLANE: "none" },
        },
      },
      {
        test: {
          ...shared,
          name: "slow",
          retry,
          testTimeout: 60_000,
          include: [slowTests],
          exclude: ["node_modules/**"],
        },
      },
      { test: { ...shared, name: "cluster", retry, testTimeout: 60_000, include: clusterTests } },
      {
        test: {
          ...shared,
          name: "clusters",
          include: worlds,
          fileParallelism: false,
          testTimeout: 300_000,
          hookTimeout: 300_000,
          env: { CUPOLA_WORLD: "kube-apiserver" },
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

// Three projects by what a test needs: `unit` only the sources, `contract` servers that take seconds to start, `e2e` a whole platform.
import { defineConfig } from "vitest/config";

const sources = "{kube,crds,api,controllers,backends,blobs,telemetry,platform,local,cli,scripts}/**";
/** Beside the sources, too, but with real servers, processes or files for seconds. */
const contractTests = "**/*.contract.test.ts";

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
          include: [`${sources}/*.test.ts`, "test/layout/**/*.test.ts"],
          exclude: [contractTests],
        },
      },
      {
        test: {
          ...shared,
          name: "contract",
          include: [`${sources}/*.contract.test.ts`, "test/{conformance,cluster,chaos}/**/*.test.ts"],
        },
      },
      "test/e2e/vitest.config.ts",
    ],
  },
});

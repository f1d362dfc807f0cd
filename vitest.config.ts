import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: [
      "{kube,crds,api,controllers,backends,blobs,telemetry,platform,local,cli,scripts}/**/*.test.ts",
      "test/{layout,conformance,cluster,chaos}/**/*.test.ts",
    ],
    globalSetup: "test/scratch-folder.ts",
    pool: "forks",
    maxWorkers: 2,
    testTimeout: 30_000,
    hookTimeout: 120_000,
  },
});

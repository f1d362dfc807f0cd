// The journeys as vitest sees them: their own settings, since each takes minutes.
import { defineConfig } from "vitest/config";

// Journeys start whole platforms: one file at a time, so that each has the machine.
export default defineConfig({
  test: {
    name: "e2e",
    include: ["**/*.e2e.ts"],
    root: import.meta.dirname,
    pool: "forks",
    fileParallelism: false,
    testTimeout: 120_000,
    hookTimeout: 120_000,
  },
});

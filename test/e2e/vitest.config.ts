// The journeys as vitest sees them: their own settings, since each takes minutes.
import { defineConfig } from "vitest/config";

/** A node starts, gets its images and an installation: minutes on a busy machine. */
const isOnNode = process.env["CUPOLA_E2E_ON"] === "node";

/** Journeys of minutes that only somebody who names them wants. */
const BY_NAME = [
  "big-upload",
  "brokers",
  "clients",
  "clusters-replace",
  "operators-day",
  "operators-limits",
  "cf-replay-all",
  "take-over",
  "ssh-images",
  "terraform",
  "uaa",
  "upgrade",
].filter((name) => process.argv.every((arg) => !arg.includes(name)));

/** The cases of `cf` take minutes, too: `cf/` runs them all, `cf/push` those of one group. */
const isOfCF = process.argv.some((arg) => /(^|\/)cf\//.test(arg));

// Journeys start whole platforms: one file at a time, so that each has the machine.
export default defineConfig({
  test: {
    name: "e2e",
    // As in the other projects with real servers.
    retry: process.env["CI"] ? 1 : 0,
    include: ["**/*.e2e.ts"],
    exclude: BY_NAME.map((name) => `**/${name}.e2e.ts`).concat(isOfCF ? [] : ["cf/**"]),
    root: import.meta.dirname,
    pool: "forks",
    fileParallelism: false,
    // Concurrent cases of `cf` on a node, which wait for pods most of the time.
    maxConcurrency: 4,
    testTimeout: isOnNode ? 300_000 : 120_000,
    hookTimeout: isOnNode ? 900_000 : 120_000,
  },
});

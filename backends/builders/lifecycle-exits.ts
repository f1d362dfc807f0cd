// Exit codes of the lifecycle's phases in Cloud Foundry's terms. Pure.
import type { StagingCode } from "./staging-failure.ts";

/** The exit codes of the lifecycle (buildpacks/lifecycle, platform/exit.go). */
export function explainExit(phase: string, exitCode: number): { code: StagingCode; text: string } {
  const known = EXITS[`${phase} ${exitCode}`] ?? EXITS[`* ${exitCode}`];
  if (known) return known;
  if (phase === "build")
    return { code: "BuildpackCompileFailed", text: `the build ended with exit code ${exitCode}; the log says why` };
  return { code: "StagingError", text: `the phase ${phase} ended with exit code ${exitCode}` };
}

const EXITS: Readonly<Record<string, { code: StagingCode; text: string }>> = {
  "detect 20": { code: "NoAppDetectedError", text: "no buildpack fits the app; the log says what each looked for" },
  "detect 21": {
    code: "NoAppDetectedError",
    text: "no buildpack fits the app, and at least one failed while it looked; the log says which",
  },
  "build 51": { code: "BuildpackCompileFailed", text: "a buildpack failed; the log says why" },
  "* 11": { code: "StagingError", text: "the builder image's lifecycle does not support the Platform API version" },
  "* 12": { code: "StagingError", text: "the builder image's lifecycle does not support a buildpack's API version" },
};

// A stock `cf` v8 with a stage as its target.
import { spawnSync } from "node:child_process";
import { runCommand } from "../../../scripts/run-command.ts";
import type { CommandResult, TestPlatform } from "./test-platform.ts";

/** Why there is no `cf` to test with; undefined when there is one. */
export function whyNoCf(): string | undefined {
  const { status, stdout } = spawnSync(cfBinary(), ["version"], { encoding: "utf8" });
  if (status !== 0) return `there is no cf: set CF_BIN, or put cf v8 on the path`;
  return /version 8\./.test(stdout) ? undefined : `cf is ${stdout.trim()}, not version 8`;
}

function cfBinary(): string {
  return process.env["CF_BIN"] ?? "cf";
}

export interface CfOptions {
  cwd?: string;
  /** Another API address than the stage's own, for example a recording proxy. */
  user?: string;
}

/** Runs `cf`; its configuration is in the stage's home, or in one of its own for another user. */
export function cfOn(
  testPlatform: TestPlatform,
  options: CfOptions = {},
): (...args: string[]) => Promise<CommandResult> {
  const env = {
    CF_HOME: options.user ? `${testPlatform.home}/cf-${options.user}` : testPlatform.home,
    KUBECONFIG: testPlatform.kubeconfig,
    CF_COLOR: "false",
    CF_TRACE: "",
  };
  return (...args) =>
    runCommand([cfBinary(), ...args], { cwd: options.cwd ?? testPlatform.home, deadlineMs: 300_000, env });
}

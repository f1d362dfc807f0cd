// A stock `cf` v8 with a laptop as its target.
import { spawnSync } from "node:child_process";
import { runCommand } from "../../scripts/run-command.ts";
import type { Laptop, Ran } from "./laptop.ts";

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
  /** Another API address than the laptop's own, for example a recording proxy. */
  user?: string;
}

/** Runs `cf`; its configuration is in the laptop's home, or in one of its own for another user. */
export function cfOn(laptop: Laptop, options: CfOptions = {}): (...args: string[]) => Promise<Ran> {
  const env = { CF_HOME: options.user ? `${laptop.home}/cf-${options.user}` : laptop.home, KUBECONFIG: laptop.kubeconfig, CF_COLOR: "false", CF_TRACE: "" };
  return (...args) => runCommand([cfBinary(), ...args], { cwd: options.cwd ?? laptop.home, deadlineMs: 180_000, env });
}

// How long `cup` takes to say anything, beside Node that says nothing.
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { type Figure, figure, median } from "./figure.ts";

const CUP = join(import.meta.dirname, "..", "..", "bin", "cup.js");
const ROUNDS = 15;

export function measureStartUp(): Promise<Figure[]> {
  timeOf([CUP, "--help"]);
  const rounds = Array.from({ length: ROUNDS }, () => ({
    cup: timeOf([CUP, "--help"]),
    bare: timeOf(["--eval", "0"]),
  }));
  return Promise.resolve([
    figure("cup --help", median(rounds.map(({ cup }) => cup)), "ms", { max: 150 }),
    figure("cup --help, against node that does nothing", median(rounds.map(({ cup, bare }) => cup / bare)), "ratio"),
  ]);
}

function timeOf(args: readonly string[]): number {
  const start = performance.now();
  const { status } = spawnSync(process.execPath, args, { stdio: "ignore" });
  if (status !== 0) throw new Error(`node ${args.join(" ")} ended with ${status}`);
  return performance.now() - start;
}

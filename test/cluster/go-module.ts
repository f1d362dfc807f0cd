// The sources of a Go module, for the files in it that are no Go.
import { spawnSync } from "node:child_process";

/** @param module as in `example.com/module@v1.2.3`. @returns its folder, which is read-only. @throws Error when it cannot be had */
export function downloadModule(module: string): string {
  const { stdout, stderr } = spawnSync("go", ["mod", "download", "-json", module], {
    encoding: "utf8",
    timeout: 120_000,
    env: { ...process.env, GOFLAGS: "-mod=mod", GO111MODULE: "on" },
  });
  const { Dir, Error: problem } = JSON.parse(stdout || "{}") as { Dir?: string; Error?: string };
  if (!Dir) throw new Error(`go mod download ${module}: ${problem ?? stderr}`);
  return Dir;
}

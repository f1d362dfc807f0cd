// The package as `npm pack` sees it in a checkout after its `prepack`, in a folder of its own: tests pack there and leave the checkout as it is.
import { cpSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { compileRelease } from "./compile.ts";

/** Files that npm packs whatever `files` says. */
const ALWAYS = ["package.json", "README.md", "LICENSE"];

/** @param folder an empty one */
export function stageRelease(checkout: string, folder: string): void {
  const { files } = JSON.parse(readFileSync(join(checkout, "package.json"), "utf8")) as { files: string[] };
  for (const name of [...ALWAYS, ...files.filter((one) => one !== "dist")])
    cpSync(join(checkout, name), join(folder, name), { recursive: true });
  compileRelease(checkout, join(folder, "dist"));
}

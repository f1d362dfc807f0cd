// Whether this machine has a program, for tests that need the tools of other ecosystems.
import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";

/** The path of a program on the PATH; undefined when there is none. */
export function findProgram(name: string): string | undefined {
  return (process.env["PATH"] ?? "")
    .split(delimiter)
    .map((folder) => join(folder, name))
    .find((path) => isExecutable(path));
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

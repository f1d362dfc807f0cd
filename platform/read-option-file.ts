// Reads a file that an option names.
import { readFileSync } from "node:fs";

/** @throws Error that names the option */
export function readOptionFile(option: string, path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (cause) {
    throw new Error(`${option} ${path} cannot be read: ${(cause as NodeJS.ErrnoException).code ?? "unknown error"}`, {
      cause,
    });
  }
}

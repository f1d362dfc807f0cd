// Reads a Procfile: one `type: command` a line. The bundled buildpacks share it.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Problem } from "../shared/log.mjs";

/** Commands by process type; undefined without a Procfile. Throws on a malformed line. */
export function readProcfile(app) {
  const path = join(app, "Procfile");
  if (!existsSync(path)) return undefined;
  const commands = {};
  for (const [index, row] of readFileSync(path, "utf8").split(/\r?\n/).entries()) {
    // To CF a Procfile is YAML, which may begin with a marker.
    if (row.trim() === "---" && Object.keys(commands).length === 0) continue;
    if (row.trim() === "" || row.trim().startsWith("#")) continue;
    const match = /^\s*([A-Za-z0-9_-]+)\s*:\s*(\S.*?)\s*$/.exec(row);
    if (!match) throw new Problem(`Procfile, line ${index + 1}: write it as "type: command"`);
    commands[match[1]] = match[2];
  }
  return commands;
}

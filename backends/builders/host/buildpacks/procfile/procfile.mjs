// Reads a Procfile: one `type: command` a line. Shared by the buildpacks of this builder.
import { readFileSync } from "node:fs";
import { join } from "node:path";

const line = /^\s*([A-Za-z0-9_-]+)\s*:\s*(.+?)\s*$/;

/** Commands by process type; undefined without a Procfile. Throws on a line that is none. */
export function readProcfile(app) {
  let text;
  try {
    text = readFileSync(join(app, "Procfile"), "utf8");
  } catch (error) {
    if (error.code === "ENOENT") return undefined;
    throw error;
  }
  const commands = {};
  for (const [index, row] of text.split(/\r?\n/).entries()) {
    if (row.trim() === "" || row.trim().startsWith("#")) continue;
    const match = line.exec(row);
    if (!match) throw new Error(`line ${index + 1} of the Procfile is not "type: command": ${row.trim().slice(0, 100)}`);
    commands[match[1]] = match[2];
  }
  return commands;
}

/** A launch.toml of processes `{ type, command, isDefault }`, each through a shell. */
export function toLaunchToml(processes) {
  return processes
    .map(({ type, command, isDefault }) => `[[processes]]\ntype = ${JSON.stringify(type)}\ncommand = ["sh", "-c", ${JSON.stringify(command)}]\n${isDefault ? "default = true\n" : ""}`)
    .join("\n");
}

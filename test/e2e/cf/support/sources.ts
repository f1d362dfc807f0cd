// Sources of apps that cases push.
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { CaseRun } from "./case.ts";

/** Writes files into the case's folder, from which cf runs. */
export function writeFiles({ folder }: CaseRun, files: Record<string, string>): void {
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), content);
  }
}

const SERVER = `require("http").createServer((request, response) =>
  response.end(JSON.stringify({ text: TEXT, env: process.env, argv: process.argv.slice(2) }))).listen(process.env.PORT);
process.on("SIGTERM", () => process.exit(0));
`;

/** A server that answers with its text, its environment and its arguments. */
export function serverFiles(text: string): Record<string, string> {
  return {
    "server.js": `const TEXT = ${JSON.stringify(text)};\n${SERVER}`,
    "package.json": '{ "name": "case", "version": "1.0.0", "scripts": { "start": "node server.js" } }\n',
  };
}

/** Answer of such a server. */
export interface ServerAnswer {
  text: string;
  env: Record<string, string>;
  argv: string[];
}

/** Writes such a server into the case's folder. */
export function writeServer(run: CaseRun, text = "hello", more: Record<string, string> = {}): void {
  writeFiles(run, { ...serverFiles(text), ...more });
}

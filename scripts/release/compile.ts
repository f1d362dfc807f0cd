// Files that npm ships: the sources as JavaScript, each beside the files that it reads, in one folder with the sources' layout.
import { chmodSync, copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import ts from "typescript";
import { listFolder } from "../image/image-entries.ts";
import { isOnlyForTests } from "../shipped-sources.ts";

/** The rungs of docs/ARCHITECTURE.md up to `cli`. */
const SOURCE_FOLDERS = [
  "kube",
  "crds",
  "blobs",
  "telemetry",
  "api",
  "controllers",
  "backends",
  "platform",
  "local",
  "cli",
];
/** The app of the first start, and the broker of `cup services enable`. */
const EXAMPLES = ["examples/hello", "examples/database-broker"];

/** Makes `output` anew. Types are not checked: `npm test` does. */
export function compileRelease(checkout: string, output: string): void {
  rmSync(output, { recursive: true, force: true });
  for (const folder of [...SOURCE_FOLDERS, ...EXAMPLES]) {
    const entries = listFolder(join(checkout, folder), folder, { exclude: isOnlyForTests });
    for (const entry of entries) {
      if (entry.type === "file" && "source" in entry) writeShipped(entry.source, join(output, entry.path), entry.mode);
    }
  }
  const { name, version } = JSON.parse(readFileSync(join(checkout, "package.json"), "utf8")) as Record<string, string>;
  writeFileSync(join(output, "package.json"), `${JSON.stringify({ name, version, type: "module" }, null, 2)}\n`);
}

function writeShipped(source: string, target: string, mode: number): void {
  mkdirSync(dirname(target), { recursive: true });
  if (source.endsWith(".ts")) {
    writeFileSync(target.replace(/\.ts$/, ".js"), toJavaScript(readFileSync(source, "utf8"), source));
    return;
  }
  copyFileSync(source, target);
  chmodSync(target, mode);
}

/** @throws Error that names the file when it does not parse */
function toJavaScript(text: string, source: string): string {
  const { outputText, diagnostics = [] } = ts.transpileModule(text, {
    fileName: source,
    reportDiagnostics: true,
    compilerOptions: {
      target: ts.ScriptTarget.ESNext,
      module: ts.ModuleKind.ESNext,
      verbatimModuleSyntax: true,
      rewriteRelativeImportExtensions: true,
    },
  });
  const [first] = diagnostics;
  if (first) throw new Error(`${source}: ${ts.flattenDiagnosticMessageText(first.messageText, " ")}`);
  return outputText;
}

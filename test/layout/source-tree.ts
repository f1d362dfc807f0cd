// The checkout as the layout rules see it: files, and who imports whom. Generated, vendored and fetched folders are left out.
import { existsSync, globSync, readFileSync, statSync } from "node:fs";
import { dirname, join, posix, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";

/** A source file; paths are relative to the root of the checkout, with forward slashes. */
export interface SourceFile {
  path: string;
  text: string;
  lines: number;
  /** Files of ours that it imports, resolved. */
  imports: string[];
  /** Packages and `node:` modules that it imports. */
  externals: string[];
}

export const root = fileURLToPath(new URL("../..", import.meta.url));

const skipped = new Set(["node_modules", ".git", ".cache", "coverage"]);
const importPattern =
  /(?:^|\n)\s*(?:import|export)\s[^;]*?from\s+"([^"]+)"|(?:^|\n)\s*import\s+"([^"]+)"|\bimport\(\s*"([^"]+)"/g;

/** Paths under the root that match, in order. */
export function listFiles(pattern: string): string[] {
  return globSync(pattern, { cwd: root, exclude: (path) => skipped.has(path.split(/[/\\]/).at(-1) ?? "") })
    .map((path) => path.split(sep).join("/"))
    .filter((path) => statSync(join(root, path)).isFile())
    .sort();
}

export function exists(path: string): boolean {
  return existsSync(join(root, path));
}

export function readText(path: string): string {
  return readFileSync(join(root, path), "utf8");
}

/** Names of the folders directly in `path`; none when it is not there. */
export function foldersIn(path: string): string[] {
  return exists(path)
    ? globSync("*/", { cwd: join(root, path) })
        .map((name) => name.replace(/[/\\]$/, ""))
        .filter((name) => statSync(join(root, path, name)).isDirectory())
        .sort()
    : [];
}

/** Every TypeScript file of ours. Buildpacks and examples are programs of their own. */
export function readSources(): SourceFile[] {
  return listFiles("{kube,crds,api,controllers,backends,blobs,telemetry,platform,local,cli,test,scripts}/**/*.ts")
    .filter((path) => !path.includes("/buildpacks/") && !path.includes("/testdata/"))
    .map((path) => parseSource(path, readText(path)));
}

export function parseSource(path: string, text: string): SourceFile {
  const specifiers = [...text.matchAll(importPattern)].map((match) => match[1] ?? match[2] ?? match[3] ?? "");
  return {
    path,
    text,
    lines: text.split("\n").length - (text.endsWith("\n") ? 1 : 0),
    imports: specifiers.filter((s) => s.startsWith(".")).map((s) => posix.join(posix.dirname(path), s)),
    externals: specifiers.filter((s) => !s.startsWith(".")),
  };
}

/** The files that `starts` import, directly or through others, and these. */
export function reachedFrom(
  starts: readonly string[],
  files: readonly Pick<SourceFile, "path" | "imports">[],
): Set<string> {
  const importsOf = new Map(files.map(({ path, imports }) => [path, imports]));
  const reached = new Set(starts);
  // A set that grows while it is read also gives what was added.
  for (const path of reached) for (const target of importsOf.get(path) ?? []) reached.add(target);
  return reached;
}

/** Relative links of a Markdown file that lead nowhere. Web addresses, and examples in code, are not looked at. */
export function brokenLinks(path: string, text: string): string[] {
  const prose = text.replace(/```[\s\S]*?```/g, "").replace(/`[^`\n]*`/g, "");
  const targets = [...prose.matchAll(/\]\(([^)\s]+)(?:\s+"[^"]*")?\)/g)].map((match) => match[1] ?? "");
  return targets
    .filter((target) => !/^([a-z]+:|#)/.test(target))
    .map((target) => decodeURIComponent(target.split("#")[0] ?? ""))
    .filter((target) => !existsSync(join(root, dirname(path), target)))
    .map((target) => `${path} links to ${relative(root, join(root, dirname(path), target))}, which does not exist`);
}

// YAML documents of files, of stdin and of folders, each with the place where it stands.
import { readdirSync, readFileSync, statSync } from "node:fs";
import { extname, join } from "node:path";
import { parseAllDocuments, type Document } from "yaml";
import { Failure } from "../failure.ts";

export interface SourceDocument {
  /** `k8s.yaml, document 2`. */
  where: string;
  value: Record<string, unknown>;
}

const MAX_BYTES = 32 * 1024 * 1024;
const MAX_FILES = 2_000;
const EXTENSIONS: ReadonlySet<string> = new Set([".yaml", ".yml", ".json"]);

/** The text of a file; `-` is stdin. @throws Failure (usage) */
export function readText(path: string): string {
  try {
    if (path !== "-" && statSync(path).size > MAX_BYTES) throw new Error(`it has more than ${MAX_BYTES} bytes`);
    return readFileSync(path === "-" ? 0 : path, "utf8");
  } catch (cause) {
    throw new Failure(`${path} cannot be read: ${cause instanceof Error ? cause.message : "unknown error"}`, {
      kind: "usage",
      cause,
    });
  }
}

/** The documents of all YAML and JSON files below a folder. @throws Failure (usage) */
export function readFolder(folder: string): SourceDocument[] {
  return listYaml(folder).flatMap((file) => parseDocuments(readText(file), file));
}

/** A folder as its YAML and JSON files, in the order of their names; any other path as it is. @throws Failure (usage) */
export function expandFolder(path: string): string[] {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ? listYaml(path) : [path];
}

function listYaml(folder: string): string[] {
  const files = listFiles(folder).filter((name) => EXTENSIONS.has(extname(name)));
  if (files.length > MAX_FILES)
    throw new Failure(`${folder} has ${files.length} files; ${MAX_FILES} are read at most`, { kind: "usage" });
  return files.sort().map((name) => join(folder, name));
}

function listFiles(folder: string): string[] {
  try {
    return readdirSync(folder, { recursive: true, encoding: "utf8" });
  } catch (cause) {
    throw new Failure(`the folder ${folder} cannot be read`, {
      kind: "usage",
      next: "name a folder of templates and constraints: --policies DIR",
      cause,
    });
  }
}

/** The documents of a text that are objects; a List counts as its items. @throws Failure (usage) that names the place */
export function parseDocuments(text: string, file: string): SourceDocument[] {
  const documents = parseAllDocuments(text, { merge: true, logLevel: "silent" }) as Document[];
  return documents.flatMap((document, index) => {
    const where = documents.length === 1 ? file : `${file}, document ${index + 1}`;
    return expand({ where, value: toValue(document, where) });
  });
}

function toValue(document: Document, where: string): unknown {
  try {
    const [error] = document.errors;
    if (error) throw error;
    const value: unknown = document.toJS({ maxAliasCount: 100 });
    JSON.stringify(value); // an alias inside its own anchor has no end
    return value;
  } catch (cause) {
    throw new Failure(`${where} is no valid YAML: ${cause instanceof Error ? cause.message.split("\n")[0] : ""}`, {
      kind: "usage",
      next: "correct it, or name other files",
      cause,
    });
  }
}

function expand({ where, value }: { where: string; value: unknown }): SourceDocument[] {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return [];
  const { kind, items } = value as { kind?: unknown; items?: unknown };
  if (kind !== "List" || !Array.isArray(items)) return [{ where, value: value as Record<string, unknown> }];
  return items.flatMap((item: unknown, index) => expand({ where: `${where}, item ${index + 1}`, value: item }));
}

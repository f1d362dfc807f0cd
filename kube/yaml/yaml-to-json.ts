// Turns YAML into JSON text, in one of two dialects. Pure and synchronous; it takes microseconds a byte, so larger texts go to a worker (read-yaml.ts).
import { isAlias, isScalar, parse, parseAllDocuments, visit, type Document, type YAMLMap } from "yaml";
import { aliasProblem } from "./yaml-aliases.ts";

/** `tree`: one map, without anchors, tags of one's own or keys given twice. `kubernetes`: anything that kube-apiserver reads. */
export type YamlDialect = "tree" | "kubernetes";

export interface YamlFault {
  fault: "unreadable" | "alias" | "tag";
  message: string;
}

export type YamlAsJson = { json: string } | YamlFault;

/**
 * Disables the parser's checks and tags that take time quadratic in the text's length: it compares each key with all earlier ones, and
 * copies the line for each error.
 */
const linear = { uniqueKeys: false, resolveKnownTags: false, prettyErrors: false } as const;
const treeOptions = { ...linear, schema: "core", merge: false, logLevel: "silent" } as const;
/** The last of keys given twice wins, as in kube-apiserver. */
const kubernetesOptions = { ...linear, maxAliasCount: 100, merge: true, stringKeys: true, logLevel: "error" } as const;

/** Marks that may begin a value. A parser takes some microseconds for each. */
const MARKS = /[,:[\]{}\-?&*!|>#\n]/g;
const MOST_MARKS = 300_000;
/** Open brackets, on which a recursive parser would overflow its stack. */
const MOST_OPEN = 512;

export function yamlToJson(text: string, dialect: YamlDialect): YamlAsJson {
  try {
    if (countMarks(text) > MOST_MARKS) return unreadable("it has too many values");
    if (isNestedTooDeep(text)) return unreadable("it nests too deep");
    return dialect === "tree" ? treeToJson(text) : kubernetesToJson(text);
  } catch (thrown) {
    if (thrown instanceof Refused) return thrown.fault;
    return unreadable(thrown instanceof Error ? thrown.message : "unreadable");
  }
}

const unreadable = (message: string): YamlFault => ({ fault: "unreadable", message });

class Refused extends Error {
  readonly fault: YamlFault;
  constructor(fault: YamlFault) {
    super(fault.message);
    this.fault = fault;
  }
}

function countMarks(text: string): number {
  let count = 0;
  MARKS.lastIndex = 0;
  while (count <= MOST_MARKS && MARKS.test(text)) count++;
  return count;
}

/** Quoted brackets count too; no real text quotes this many. */
function isNestedTooDeep(text: string): boolean {
  let depth = 0;
  for (const [mark] of text.matchAll(/[[\]{}]/g)) {
    depth = mark === "[" || mark === "{" ? depth + 1 : Math.max(0, depth - 1);
    if (depth > MOST_OPEN) return true;
  }
  return /^(?:[ \t]*[-?] ){256}/m.test(text);
}

function kubernetesToJson(text: string): YamlAsJson {
  const value: unknown = parse(text, kubernetesOptions);
  const problem = text.includes("*") ? aliasProblem(value) : undefined;
  if (problem) return unreadable(problem);
  // Each alias becomes a copy here, so that a default set in one place is not set in the others.
  return { json: JSON.stringify(value ?? null) };
}

function treeToJson(text: string): YamlAsJson {
  const documents = parseAllDocuments(text, treeOptions) as Document[];
  const [document] = documents;
  if (documents.length !== 1 || !document || document.errors.length > 0)
    return unreadable(document?.errors[0]?.message ?? "it is not one document");
  visit(document, {
    Alias: () => refuseAlias(),
    Node: (_key, node) => checkNode(node),
    Map: (_key, map) => {
      checkNode(map);
      checkKeys(map);
    },
  });
  return { json: JSON.stringify(document.toJS({ maxAliasCount: 0 }) ?? null) };
}

function checkNode({ anchor, tag }: { anchor?: string | undefined; tag?: string | undefined }): void {
  if (anchor) refuseAlias();
  if (tag && !tag.startsWith("tag:yaml.org,2002:")) throw new Refused({ fault: "tag", message: "custom tags" });
}

/** Keys must be unique scalars: JSON has no list or mapping keys, and serializing one costs its whole depth. */
function checkKeys({ items }: YAMLMap): void {
  const seen = new Set<unknown>();
  for (const { key } of items) {
    if (isAlias(key)) refuseAlias();
    if (!isScalar(key)) throw new Refused(unreadable("Map keys must be scalars"));
    if (seen.has(key.value)) throw new Refused(unreadable("Map keys must be unique"));
    seen.add(key.value);
  }
}

function refuseAlias(): never {
  throw new Refused({ fault: "alias", message: "anchors and aliases" });
}

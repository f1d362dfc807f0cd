// The import ladder of docs/ARCHITECTURE.md as a function, so that a test can show that it catches what it should.
import type { SourceFile } from "./source-tree.ts";

/** A folder imports from rungs before its own. Folders on one rung never import each other. */
export const layers: readonly (readonly string[])[] = [
  ["kube"],
  ["crds"],
  ["blobs", "telemetry"],
  ["api", "controllers", "backends"],
  ["platform"],
  ["local"],
  ["cli"],
  ["test", "scripts"],
];

/** The ladder inside of `api/`, read as `layers`. On top of it come the folders of kinds, then the files of `api/` itself. */
export const apiLayers: readonly (readonly string[])[] = [
  ["api/cache"],
  ["api/http"],
  ["api/identity", "api/peers"],
  ["api/access"],
  ["api/cf", "api/lists", "api/routing"],
  ["api/included", "api/jobs", "api/openapi"],
];

/** Folders of rung 4 that hold what all kinds there share. Any other folder is one kind's, and no other kind imports it. */
export const sharedFolders: ReadonlySet<string> = new Set([
  ...apiLayers.flat(),
  "backends/routers/services",
  "controllers/shared",
]);

/** Imports that only some folders may have: I/O has no place in the nouns. */
const pureFolders = ["crds"];
const inputOutput =
  /^(node:(fs|net|http|https|http2|tls|dgram|child_process|sqlite|worker_threads|timers)(\/.*)?|undici|pino|express|prom-client|@kubernetes\/client-node)$/;

/** Every import that the ladder forbids, as a sentence. Imports between tests and scripts are free: scripts run tests. */
export function importViolations(files: readonly Pick<SourceFile, "path" | "imports" | "externals">[]): string[] {
  return files.flatMap((file) => [
    ...file.imports.flatMap((target) => checkImport(file.path, target)),
    ...file.externals
      .filter((name) => isPure(file.path) && inputOutput.test(name))
      .map((name) => `${file.path} imports ${name}: ${pureFolders.join(", ")} does no I/O`),
  ]);
}

function checkImport(from: string, to: string): string[] {
  const fromLayer = layerOf(from);
  const toLayer = layerOf(to);
  if (fromLayer < 0 || toLayer < 0) return toLayer === fromLayer ? [] : [`${from} imports ${to}, which is on no rung`];
  if (topOf(from) !== topOf(to)) {
    if (toLayer > fromLayer) return [`${from} imports ${to}, from a rung above its own`];
    if (toLayer === fromLayer && topOf(from) !== "scripts" && topOf(from) !== "test")
      return [`${from} imports ${to}: siblings meet only through objects in the cluster`];
  }
  return [...checkEmbeddedServer(from, to), ...checkKindFolders(from, to), ...checkApiLadder(from, to)];
}

function checkEmbeddedServer(from: string, to: string): string[] {
  const outside = from.startsWith("local/apiserver/") && !to.startsWith("local/apiserver/") && !to.startsWith("kube/");
  return outside ? [`${from} imports ${to}: the embedded API server knows only kube/`] : [];
}

function checkKindFolders(from: string, to: string): string[] {
  const [own, other] = [kindFolder(from), kindFolder(to)];
  if (!own || !other || own === other || topOf(from) !== topOf(to)) return [];
  return [
    `${from} imports ${to}: kinds do not import each other, what they share is in crds/ or in the rung's own files`,
  ];
}

function checkApiLadder(from: string, to: string): string[] {
  const [own, other] = [apiLayerOf(from), apiLayerOf(to)];
  if (own < 0 || other < 0 || from.endsWith(".test.ts") || isPresentation(from, to)) return [];
  if (other > own) return [`${from} imports ${to}, from a rung of api/ above its own`];
  const areSiblings = other === own && own < apiLayers.length && secondOf(from) !== secondOf(to);
  return areSiblings ? [`${from} imports ${to}: folders on one rung of api/ do not import each other`] : [];
}

/** Answers include resources of other kinds as those kinds present them. No present.ts includes others: that would be a circle of imports. */
function isPresentation(from: string, to: string): boolean {
  return secondOf(from) === "api/included" && /^api\/[^/]+\/present\.ts$/.test(to);
}

/** Its rung of `apiLayers`, then kinds, then the files of `api/` itself; -1 outside of `api/`. */
function apiLayerOf(path: string): number {
  if (topOf(path) !== "api") return -1;
  if (path.split("/").length === 2) return apiLayers.length + 1;
  const rung = apiLayers.findIndex((folders) => folders.includes(secondOf(path)));
  return rung < 0 ? apiLayers.length : rung;
}

function secondOf(path: string): string {
  return path.split("/").slice(0, 2).join("/");
}

/** `api/route` for api/route/present.ts; `backends/routers/local` for a class. Undefined for what a rung shares. */
function kindFolder(path: string): string | undefined {
  const segments = path.split("/");
  const depth = { api: 2, controllers: 2, backends: 3 }[segments[0] ?? ""];
  if (!depth || segments.length <= depth) return undefined;
  const folder = segments.slice(0, depth).join("/");
  return sharedFolders.has(folder) || sharedFolders.has(segments.slice(0, 2).join("/")) ? undefined : folder;
}

/** Folders of `api/` and `controllers/` that belong to one kind. */
export function isKindFolder(folder: string): boolean {
  return kindFolder(`${folder}/x.ts`) === folder;
}

function topOf(path: string): string {
  return path.split("/")[0] ?? "";
}

function layerOf(path: string): number {
  return layers.findIndex((layer) => layer.includes(topOf(path)));
}

function isPure(path: string): boolean {
  return pureFolders.includes(topOf(path)) && !path.endsWith(".test.ts");
}

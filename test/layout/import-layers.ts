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

/** Folders of rung 4 that hold what all kinds there share. Any other folder is one kind's, and no other kind imports it. */
export const sharedFolders: ReadonlySet<string> = new Set([
  "api/access",
  "api/cache",
  "api/cf",
  "api/http",
  "api/identity",
  "api/included",
  "api/jobs",
  "api/lists",
  "api/openapi",
  "api/peers",
  "api/routing",
  "backends/routers/services",
  "controllers/shared",
]);

/** What only some may import: I/O has no place in the nouns. */
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
  return [...checkEmbeddedServer(from, to), ...checkKindFolders(from, to)];
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

// kpack itself, from its Go module: its kinds, its controller as a process of this machine, and the images of its build's own containers.
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { parseAllDocuments } from "yaml";
import { CustomResourceDefinition, ConfigMap, Namespace } from "../../kube/api/builtin.ts";
import type { KubeObject } from "../../kube/api/object.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { cacheRoot } from "../../scripts/cache-root.ts";
import { listBaseEntries } from "../../scripts/image/base-layer.ts";
import { writeImage } from "../../scripts/image/oci-image.ts";
import { runCommand } from "../../scripts/run-command.ts";
import { eventually } from "../eventually.ts";
import type { TestCluster } from "./given/given-cluster.ts";
import { downloadModule } from "./go-module.ts";
import { startGuarded, type GuardedProcess } from "./guarded-process.ts";
import { KPACK_MODULE } from "./kpack-api.ts";
import { pushImage } from "./node/push-image.ts";

/** Folders of the module's cmd/. */
const PROGRAMS = ["controller", "build-init", "completion"] as const;
type Program = (typeof PROGRAMS)[number];
const NAMESPACE = "kpack";
/** On two cores with an empty Go build cache the first one takes a quarter of an hour. */
const BUILD_MS = 3_600_000;

/** Paths of kpack's programs, which are built when the cache lacks them. */
export async function provideKpack(): Promise<Record<Program, string>> {
  const folder = join(cacheRoot(), "kpack", KPACK_MODULE.slice(KPACK_MODULE.indexOf("@") + 1));
  mkdirSync(folder, { recursive: true });
  const paths = PROGRAMS.map((name) => [name, join(folder, name)] as const);
  for (const [name, path] of paths) if (!existsSync(path)) await build(name, folder);
  return Object.fromEntries(paths) as Record<Program, string>;
}

async function build(name: Program, folder: string): Promise<void> {
  const scratch = mkdtempSync(join(folder, ".building-"));
  const args = ["build", "-buildvcs=false", "-ldflags", "-s -w", "-o", join(scratch, name), `./cmd/${name}`];
  try {
    const { code, output } = await runCommand(["go", ...args], {
      cwd: downloadModule(KPACK_MODULE),
      deadlineMs: BUILD_MS,
      env: { GOFLAGS: "", GOWORK: "off" },
    });
    if (code !== 0) throw new Error(`kpack's ${name} could not be built: ${output}`);
    renameSync(join(scratch, name), join(folder, name));
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

/** Applies kpack's definitions, pushes its images and starts its controller, which works until it is killed. */
export async function startKpack(
  cluster: Pick<TestCluster, "kubeconfig" | "registry">,
  client: KubeClient,
  scratch: string,
): Promise<GuardedProcess> {
  const programs = await provideKpack();
  await applyDefinitions(client);
  await client.create(Namespace, { metadata: { name: NAMESPACE } });
  await client.create(ConfigMap, readLogSettings());
  const images = {
    BUILD_INIT_IMAGE: await pushProgram(cluster, scratch, "build-init", programs["build-init"]),
    COMPLETION_IMAGE: await pushProgram(cluster, scratch, "completion", programs.completion),
  };
  const settings = {
    ...images,
    SYSTEM_NAMESPACE: NAMESPACE,
    SYSTEM_SERVICE_ACCOUNT: "controller",
    CONFIG_LOGGING_NAME: "config-logging",
    CONFIG_OBSERVABILITY_NAME: "config-observability",
    METRICS_DOMAIN: "kpack.io",
  };
  const words = Object.entries(settings).map(([name, value]) => `${name}=${value}`);
  return startGuarded(["env", ...words, programs.controller, `-kubeconfig=${cluster.kubeconfig}`], {
    name: "kpack",
    logFile: join(scratch, "kpack.log"),
  });
}

/** Without their conversion webhook, which is another program. */
async function applyDefinitions(client: KubeClient): Promise<void> {
  const folder = join(downloadModule(KPACK_MODULE), "config");
  const documents = readdirSync(folder)
    .filter((name) => name.endsWith(".yaml"))
    .flatMap((name) => parseAllDocuments(readFileSync(join(folder, name), "utf8")))
    .map((document) => document.toJS() as (KubeObject & { spec: Record<string, unknown> }) | null);
  const definitions = documents.filter((document) => document?.kind === CustomResourceDefinition.kind);
  for (const definition of definitions) {
    const { spec, ...rest } = definition!;
    const { conversion: _webhook, ...plain } = spec;
    await client.apply(CustomResourceDefinition, { ...rest, spec: plain }, { fieldManager: "test", force: true });
  }
  await eventually(() => client.raw("GET", "/apis/kpack.io/v1alpha2/sourceresolvers?limit=1"));
  await eventually(() => client.raw("GET", "/apis/kpack.io/v1alpha2/builds?limit=1"));
}

function readLogSettings(): KubeObject {
  const file = join(downloadModule(KPACK_MODULE), "config", "config-logging.yaml");
  return parseAllDocuments(readFileSync(file, "utf8"))
    .map((document) => document.toJS() as KubeObject | null)
    .find((object) => object?.kind === "ConfigMap")!;
}

/** @returns the image's name */
async function pushProgram(
  { registry }: Pick<TestCluster, "registry">,
  scratch: string,
  name: Program,
  source: string,
): Promise<string> {
  const layout = join(scratch, name);
  const repository = `kpack/${name}:1`;
  const { entries } = await listBaseEntries();
  await writeImage(layout, {
    reference: `${registry.host}/${repository}`,
    layers: [
      { name: "system", entries },
      { name, entries: [{ type: "file", path: `/cnb/process/${name}`, mode: 0o755, source }] },
    ],
    config: { User: "1000:1000", Env: [], WorkingDir: "/" },
  });
  await pushImage(layout, repository, registry);
  return `${registry.host}/${repository}`;
}

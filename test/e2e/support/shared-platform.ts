// A platform on a node for several journeys: a start of it takes minutes, a journey often less. Each leaves it as it found it.
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runCommand } from "../../../scripts/run-command.ts";
import { SYSTEM_NAMESPACE } from "../../../crds/groups.ts";
import { LOCAL_ORG } from "../../../local/seed.ts";
import { startNodePlatform, type NodePlatformOptions } from "./node-platform.ts";
import type { TestPlatformBase } from "./test-platform.ts";

/** The variable that names the file in which a running platform is described. */
export const SHARED_PLATFORM = "CUPOLA_E2E_PLATFORM";

interface SharedPlatform {
  url: string;
  port: number;
  tcpHost: string;
  kubeconfig: string;
  kubectl: string;
  hostAddress: string;
  routeServiceTLS: TestPlatformBase["routeServiceTLS"];
  /** Objects of the system namespace that were there before any journey, as kubectl names them. */
  own: string[];
}

const CLEAN_UP_MS = 180_000;

/** Kinds of the system namespace that journeys make objects of. */
const SHARED_KINDS = [
  "buildpacks",
  "domains",
  "isolationsegments",
  "orgquotas",
  "securitygroups",
  "servicebrokers",
  "stacks",
  "users",
];
const IN_SYSTEM = ["-n", SYSTEM_NAMESPACE];

/** Starts one and describes it in a file. @returns the file, and what ends it */
export async function sharePlatform(
  options: NodePlatformOptions,
): Promise<{ file: string; stop: () => Promise<void> }> {
  const { base, node } = await startNodePlatform(options);
  const { url, port, tcpHost, hostAddress, routeServiceTLS, kubeconfig, home } = base;
  const file = join(home, "shared-platform.json");
  const own = await listShared(kubectlOf(node.kubectl, kubeconfig), SHARED_KINDS);
  const reached = { url, port, tcpHost, hostAddress, routeServiceTLS };
  const described: SharedPlatform = { ...reached, kubeconfig, kubectl: node.kubectl, own };
  writeFileSync(file, JSON.stringify(described));
  return { file, stop: () => base.stop() };
}

/** The platform of the file for one journey, with a home of its own. Its processes are not the journey's to kill. */
export function joinPlatform(file: string): { base: TestPlatformBase; kubectl: string } {
  const described = JSON.parse(readFileSync(file, "utf8")) as SharedPlatform;
  const { url, port, tcpHost, hostAddress, routeServiceTLS, kubeconfig, kubectl, own: shared } = described;
  const home = mkdtempSync(join(tmpdir(), "cupola-e2e-"));
  const own = join(home, "kubeconfig");
  copyFileSync(kubeconfig, own);
  const base: TestPlatformBase = {
    on: "node",
    home,
    url,
    port,
    rawPort: port,
    hostAddress,
    ...(routeServiceTLS && { routeServiceTLS }),
    tcpHost,
    kubeconfig: own,
    pids: () => [],
    kill: () => Promise.reject(new Error("this platform serves other journeys, too: run this one alone")),
    start: () => Promise.resolve(),
    async stop() {
      await cleanUp(kubectlOf(kubectl, own), shared);
      rmSync(home, { recursive: true, force: true, maxRetries: 5 });
    },
  };
  return { base, kubectl };
}

type Kubectl = (...args: string[]) => Promise<string>;

/** @throws Error with kubectl's output */
function kubectlOf(kubectl: string, kubeconfig: string): Kubectl {
  return async (...args) => {
    const { code, output } = await runCommand([kubectl, "--kubeconfig", kubeconfig, ...args], {
      cwd: tmpdir(),
      deadlineMs: CLEAN_UP_MS,
    });
    if (code !== 0) throw new Error(`kubectl ${args.join(" ")} ended with ${code}: ${output}`);
    return output;
  };
}

/** Objects of the system namespace, but for the buildpacks of the builder image, which come and go with it. */
async function listShared(run: Kubectl, kinds: readonly string[]): Promise<string[]> {
  const resources = kinds.map((kind) => `${kind}.cupola.dev`).join();
  const { items } = JSON.parse(await run("get", resources, ...IN_SYSTEM, "-o", "json")) as {
    items: { kind: string; metadata: { name: string }; spec: { builder?: unknown } }[];
  };
  return items
    .filter(({ spec }) => spec.builder === undefined)
    .map(({ kind, metadata }) => `${kind.toLowerCase()}.cupola.dev/${metadata.name}`);
}

/** Instances first, without a word to brokers, which may be gone: orgs and brokers would wait for them. */
async function forgetServices(run: Kubectl): Promise<void> {
  const { items } = JSON.parse(await run("get", "serviceinstances.cupola.dev", "-A", "-o", "json")) as {
    items: { metadata: { namespace: string; name: string }; spec: { type?: string } }[];
  };
  for (const { metadata, spec } of items) {
    const object = [`serviceinstances.cupola.dev/${metadata.name}`, "-n", metadata.namespace];
    if (spec.type === "managed") await run("patch", ...object, "--type=merge", "-p", '{"spec":{"purge":true}}');
    await run("delete", ...object, "--wait=false");
  }
}

/** Removes what journeys make: orgs, people, all in the first space, and what they set for all. @param own objects that stay */
async function cleanUp(run: Kubectl, own: readonly string[]): Promise<void> {
  const orgs = (await run("get", "orgs.cupola.dev", "-o", "name")).split("\n").filter(Boolean);
  const others = orgs.filter((org) => org !== `org.cupola.dev/${LOCAL_ORG}`);
  await forgetServices(run);
  await run("delete", "apps.cupola.dev,routes.cupola.dev", "--all", "-n", "local-dev");
  await run("delete", "serviceaccounts", "-n", "default", "--field-selector=metadata.name!=default");
  if (others.length > 0) await run("delete", ...others);
  const made = (await listShared(run, SHARED_KINDS)).filter((object) => !own.includes(object));
  if (made.length > 0) await run("delete", ...IN_SYSTEM, ...made);
  const patch = async (kind: string, type: "merge" | "json", body: unknown): Promise<unknown> =>
    run("patch", ...IN_SYSTEM, ...(await listShared(run, [kind])), `--type=${type}`, "-p", JSON.stringify(body));
  await patch("featureflags", "merge", { spec: { enabled: null } });
  await patch("environmentgroups", "json", [{ op: "add", path: "/spec/variables", value: {} }]);
}

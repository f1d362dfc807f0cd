// Steps of an operator who installs Cupola on a cluster: push images to a registry, make a pull Secret, `helm install`.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { stringify } from "yaml";
import { parseImageName } from "../../../blobs/registry/image-name.ts";
import { pushLayout } from "../../../blobs/registry/push-layout.ts";
import { createRegistryClient } from "../../../blobs/registry/registry-client.ts";
import { runCommand } from "../../../scripts/run-command.ts";
import { writeCupolaImage } from "../../../scripts/image/cupola-image.ts";

/** The chart's folder in a checkout. */
export const CHART = join("deploy", "helm", "cupola");
const NAMESPACE = "cupola-system";
/** More than helm's own time-out below: sixteen processes that start on a busy machine of two cores. */
const INSTALL_DEADLINE_MS = 17 * 60_000;

/** A registry over plain http with one user. */
export interface OperatorRegistry {
  host: string;
  username: string;
  password: string;
}

export interface Operator {
  /** Builds the image of Cupola as `npm run image` does and pushes it as `<host>/<name>`. @param checkout of another commit, whose own script does it */
  pushCupola(name: string, checkout?: string): Promise<void>;
  /** Pushes the image of a layout as `<host>/<name>`. */
  pushImage(layout: string, name: string): Promise<void>;
  /** Runs helm. @throws Error with its output when it fails */
  helm(...args: string[]): Promise<string>;
  /** Runs kubectl. @throws Error with its output when it fails */
  kubectl(...args: string[]): Promise<string>;
  /** `helm upgrade --install` with these values, and waits until everything is ready. @param chart its folder; the checkout's own unless said */
  install(values: object, chart?: string): Promise<void>;
  /** Removes its files. */
  close(): void;
}

/** Pods, warnings, and the end of each log: what an operator would look at next. */
async function describePods(
  run: (...command: [string, ...string[]]) => Promise<string>,
  kubectl: string,
): Promise<string> {
  const commands = [
    ["get", "pods", "-o", "wide"],
    ["get", "events", "--field-selector=type=Warning"],
    ["logs", "-l", "app.kubernetes.io/name=cupola", "--prefix", "--tail=5", "--max-log-requests=20"],
    ["logs", "job/cupola-settings", "--tail=20"],
  ];
  const outputs = await Promise.all(
    commands.map((args) => run(kubectl, "-n", NAMESPACE, ...args).catch((error: unknown) => String(error))),
  );
  return outputs.join("\n");
}

export interface OperatorTools {
  helm: string;
  kubectl: string;
  kubeconfig: string;
  registry: OperatorRegistry;
}

export function createOperator({ helm, kubectl, kubeconfig, registry }: OperatorTools): Operator {
  const folder = mkdtempSync(join(tmpdir(), "cupola-operator-"));
  const run = async (...command: [string, ...string[]]): Promise<string> => {
    const env = { KUBECONFIG: kubeconfig, HELM_CACHE_HOME: folder, HELM_CONFIG_HOME: folder, HELM_DATA_HOME: folder };
    const { code, output } = await runCommand(command, { cwd: folder, deadlineMs: INSTALL_DEADLINE_MS, env });
    if (code !== 0) throw new Error(`${command.slice(0, 3).join(" ")} ended with ${code}: ${output.slice(-6000)}`);
    return output;
  };
  const push = async (layout: string, name: string): Promise<void> => {
    const { username, password } = registry;
    const client = createRegistryClient({
      credentials: () => Promise.resolve({ username, password }),
      insecureHosts: [registry.host],
    });
    await pushLayout(client, layout, parseImageName(`${registry.host}/${name}`)).finally(() => client.close());
  };
  const pushFrom = async (checkout: string, name: string): Promise<void> => {
    const { host, username, password } = registry;
    const credentials = join(folder, "credentials.json");
    const auth = Buffer.from(`${username}:${password}`).toString("base64");
    writeFileSync(credentials, JSON.stringify({ auths: { [host]: { auth } } }), { mode: 0o600 });
    const script = join(checkout, "scripts", "image", "main.ts");
    const flags = ["--insecure-registry", host, "--credentials", credentials];
    await run(process.execPath, script, "--push", `${host}/${name}`, ...flags);
  };
  return {
    pushImage: push,
    async pushCupola(name, checkout) {
      if (checkout) return pushFrom(checkout, name);
      const layout = join(folder, "cupola");
      await writeCupolaImage(layout, `${registry.host}/${name}`);
      await push(layout, name);
    },
    helm: (...args) => run(helm, ...args),
    kubectl: (...args) => run(kubectl, ...args),
    async install(values, chart = join(import.meta.dirname, "..", "..", "..", CHART)) {
      const file = join(folder, "values.yaml");
      writeFileSync(file, stringify(values), { mode: 0o600 });
      const flags = ["--namespace", NAMESPACE, "--create-namespace", "--values", file, "--wait", "--timeout", "15m"];
      await run(helm, "upgrade", "--install", "cupola", chart, ...flags).catch(async (cause: unknown) => {
        throw new Error(`${String(cause)}\n${await describePods(run, kubectl)}`, { cause });
      });
    },
    close: () => rmSync(folder, { recursive: true, force: true }),
  };
}

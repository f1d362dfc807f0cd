// Renders the Helm chart by helm, and finds what tests look for.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect } from "vitest";
import { parseAllDocuments, stringify } from "yaml";
import { runCommand } from "../../../scripts/run-command.ts";
import { provideBinary } from "../../cluster/binaries.ts";

export interface Rendered {
  kind: string;
  metadata: { name: string; annotations?: Record<string, string> };
  rules?: unknown;
  data?: Record<string, string>;
  spec?: { replicas?: number; template?: { spec: PodSpec } };
}
export interface PodSpec {
  serviceAccountName: string;
  priorityClassName?: string;
  securityContext: object;
  volumes: { name: string; emptyDir?: { sizeLimit?: string } }[];
  containers: { args: string[]; securityContext: object; readinessProbe: object; livenessProbe: object }[];
}

export const CHECKOUT = join(import.meta.dirname, "..", "..", "..");
export const CHART = join(CHECKOUT, "deploy", "helm", "cupola");
/** Values of a hub that the chart takes. */
export const VALUES = {
  image: { repository: "registry.example.org/cupola" },
  api: { publicUrl: "https://api.example.org" },
  apps: { domain: "apps.example.org" },
  admins: { users: ["alice"], groups: ["platform"] },
  builders: { cnb: { builderImage: "registry.example.org/builder:1" } },
  registry: {
    prefix: "registry.example.org/apps",
    username: "u",
    password: "p",
    pull: { username: "r", password: "q" },
  },
};

export function operationsOf({ spec }: Rendered): string[] {
  const args = spec?.template?.spec.containers[0]?.args.join(" ") ?? "";
  return /--operation=(\S+)/.exec(args)?.[1]?.split(",") ?? [];
}

/** The rules of an operation's role among some objects. */
export function rulesOf(objects: readonly Rendered[], kind: string, operation: string): unknown {
  return objects.find((each) => each.kind === kind && each.metadata.name === `cupola-${operation}`)?.rules;
}

/** Kinds and names of what some values add to a render. */
export function addedTo(without: readonly Rendered[], objects: readonly Rendered[]): string[] {
  const named = new Set(without.map(nameOf));
  return objects
    .map(nameOf)
    .filter((name) => !named.has(name))
    .toSorted();
}

function nameOf({ kind, metadata }: Rendered): string {
  return `${kind} ${metadata.name}`;
}

export function deploymentNamed(objects: readonly Rendered[], name: string): PodSpec | undefined {
  return objects.find(({ kind, metadata }) => kind === "Deployment" && metadata.name === name)?.spec?.template?.spec;
}

interface Outcome {
  code: number | null;
  output: string;
}

export interface Chart {
  /** For files of tests. */
  folder: string;
  /** The path of helm. */
  binary(): string;
  helm(args: string[], values: object, kubeconfig?: string): Promise<Outcome>;
  /** Fails where the chart refuses the values. */
  render(values: object): Promise<Rendered[]>;
}

/** For the tests of a `describe` block: helm, with a folder of its own. */
export function useChart(): Chart {
  const folder = mkdtempSync(join(tmpdir(), "cupola-chart-"));
  let binary: string;

  beforeAll(async () => {
    binary = await provideBinary("helm");
  }, 600_000);
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  async function helm(args: string[], values: object, kubeconfig = ""): Promise<Outcome> {
    const file = join(folder, "values.yaml");
    writeFileSync(file, stringify(values));
    const env = { KUBECONFIG: kubeconfig, HELM_CACHE_HOME: folder, HELM_CONFIG_HOME: folder, HELM_DATA_HOME: folder };
    return runCommand([binary, ...args, "-n", "cupola-system", "-f", file], { cwd: folder, deadlineMs: 60_000, env });
  }

  async function render(values: object): Promise<Rendered[]> {
    const { code, output } = await helm(["template", "cupola", CHART], values);
    expect(code, output.slice(-2000)).toBe(0);
    return parseAllDocuments(output)
      .map((document) => document.toJS() as Rendered | null)
      .filter((object) => object !== null);
  }

  return { folder, binary: () => binary, helm, render };
}

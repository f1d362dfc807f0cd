// Judges a person's patch on a pod template: the part that is in force, and a sentence for each field that is left out. Pure.
import { z } from "zod";
import { ADJUSTABLE, type AdjustableName } from "./adjustable.ts";

/** A patch on a pod template that has been judged. */
export interface PodPatch {
  metadata?: { labels?: Record<string, string>; annotations?: Record<string, string> };
  spec?: PodSpecPatch;
}

export interface PodSpecPatch {
  containers?: ContainerPatch[];
  [field: string]: unknown;
}

export interface ContainerPatch {
  name: string;
  resources?: { requests?: { cpu?: string }; limits?: { cpu?: string } };
}

/** A field of a patch that is left out. */
export interface Refusal {
  path: string;
  message: string;
}

export interface Judgement {
  patch: PodPatch;
  refused: Refusal[];
}

export const MAX_REFUSALS = 50;
/** Bytes of JSON: each Revision and LRP carries the patch. */
export const MAX_BYTES = 16_384;
const MAX_CONTAINERS = 50;

/** Why fields of a pod template are the platform's. Any other is said to be no field that can be adjusted. */
const OF_THE_PLATFORM: Readonly<Record<string, string>> = {
  image: "the image is the droplet's: push another one",
  env: "variables are the app's: cf set-env",
  envFrom: "variables are the app's: cf set-env",
  command: "the start command is the process's: set it in the manifest",
  args: "the start command is the process's: set it in the manifest",
  ports: "ports are the process's: set spec.ports of the Process",
  livenessProbe: "health checks are the process's: cf set-health-check",
  readinessProbe: "health checks are the process's: cf set-health-check",
  startupProbe: "health checks are the process's: cf set-health-check",
  volumes: "volumes come from bound services: a pod of an app mounts nothing of its node",
  volumeMounts: "volumes come from bound services: a pod of an app mounts nothing of its node",
  securityContext: "pods of apps are of Pod Security restricted",
  serviceAccountName: "pods of apps have no account of Kubernetes",
  serviceAccount: "pods of apps have no account of Kubernetes",
  automountServiceAccountToken: "pods of apps have no account of Kubernetes",
  hostNetwork: "pods of apps use nothing of their node",
  hostPID: "pods of apps use nothing of their node",
  hostIPC: "pods of apps use nothing of their node",
  hostUsers: "pods of apps use nothing of their node",
  nodeName: "the scheduler chooses the node: use spec.nodeSelector or spec.affinity",
  schedulingGates: "the gate gives each instance its index",
  selector: "the selector finds the instances",
  replicas: "the number of instances is the process's: cf scale",
  memory: "memory is the process's: cf scale -m",
  "ephemeral-storage": "disk is the process's: cf scale -k",
};

/** Judges a patch by the fields that the operator allows. @param allowed of allowedFields() */
export function judgePatch(
  patch: unknown,
  allowed: readonly AdjustableName[],
  { maxBytes = MAX_BYTES }: { maxBytes?: number } = {},
): Judgement {
  const parsed = z.record(z.string(), z.unknown()).safeParse(patch);
  if (!parsed.success) return refuseWhole("a patch is a map with metadata and spec, as of a pod template");
  if (Buffer.byteLength(JSON.stringify(patch)) > maxBytes)
    return refuseWhole(`a patch has at most ${maxBytes} bytes of JSON; keep long values in annotations short`);
  const judge = new PatchJudge(allowed);
  judge.readTemplate(parsed.data);
  return { patch: judge.patch, refused: judge.refused.slice(0, MAX_REFUSALS) };
}

function refuseWhole(message: string): Judgement {
  return { patch: {}, refused: [{ path: "patch", message }] };
}

type Fields = Record<string, unknown>;

class PatchJudge {
  readonly refused: Refusal[] = [];
  readonly patch: PodPatch = {};
  readonly #allowed: ReadonlySet<AdjustableName>;

  constructor(allowed: readonly AdjustableName[]) {
    this.#allowed = new Set(allowed);
  }

  readTemplate({ metadata, spec, ...others }: Fields): void {
    this.#refuseAll(others, "");
    const ofMetadata = metadata === undefined ? {} : this.#readFields(metadata, "metadata");
    const { containers, ...pod } = this.#toFields(spec, "spec");
    const ofSpec = this.#readFields(pod, "spec");
    const ofContainers = containers === undefined ? [] : this.#readContainers(containers);
    this.#requireNameservers(ofSpec);
    if (Object.keys(ofMetadata).length > 0) this.patch.metadata = ofMetadata;
    if (Object.keys(ofSpec).length > 0 || ofContainers.length > 0)
      this.patch.spec = { ...ofSpec, ...(ofContainers.length > 0 && { containers: ofContainers }) };
  }

  /** The fields below `at` that are in force. */
  #readFields(given: unknown, at: string): Fields {
    const fields = Object.entries(this.#toFields(given, at));
    return Object.fromEntries(
      fields.flatMap(([name, value]) => {
        const found = this.#readField(`${at}.${name}`, { shown: `${at}.${name}`, name, value });
        return found === undefined ? [] : [[name, found]];
      }),
    );
  }

  /** Kubernetes refuses a pod without a resolver. */
  #requireNameservers(spec: Fields): void {
    const { nameservers = [] } = (spec["dnsConfig"] ?? {}) as { nameservers?: unknown[] };
    if (spec["dnsPolicy"] !== "None" || nameservers.length > 0) return;
    delete spec["dnsPolicy"];
    this.#refuse("spec.dnsPolicy", "None needs spec.dnsConfig.nameservers");
  }

  #readContainers(given: unknown): ContainerPatch[] {
    const at = "spec.containers";
    if (!Array.isArray(given) || given.length > MAX_CONTAINERS) {
      this.#refuse(at, `spec.containers is a list of at most ${MAX_CONTAINERS} containers, each with its name`);
      return [];
    }
    return given.flatMap((one: unknown, position) => this.#readContainer(one, `${at}[${position}]`));
  }

  #readContainer(given: unknown, at: string): ContainerPatch[] {
    const { name, resources, ...others } = this.#toFields(given, at);
    if (typeof name !== "string" || name === "" || name.length > 63) {
      this.#refuse(at, "a container needs its name: application, or that of a sidecar");
      return [];
    }
    const shown = `spec.containers[${name}]`;
    this.#refuseAll(others, `${shown}.`);
    const { requests, limits, ...rest } = this.#toFields(resources, `${shown}.resources`);
    this.#refuseAll(rest, `${shown}.resources.`);
    const [request, limit] = [
      this.#readCpu(requests, `${shown}.resources.requests`, "spec.containers.resources.requests.cpu"),
      this.#readCpu(limits, `${shown}.resources.limits`, "spec.containers.resources.limits.cpu"),
    ];
    if (request === undefined && limit === undefined) return [];
    return [
      {
        name,
        resources: {
          ...(request !== undefined && { requests: { cpu: request } }),
          ...(limit !== undefined && { limits: { cpu: limit } }),
        },
      },
    ];
  }

  #readCpu(given: unknown, shown: string, path: string): string | undefined {
    const { cpu, ...others } = this.#toFields(given, shown);
    this.#refuseAll(others, `${shown}.`);
    if (cpu === undefined) return undefined;
    return this.#readField(path, { shown: `${shown}.cpu`, name: "cpu", value: cpu }) as string | undefined;
  }

  /** The value of a field, or undefined when it is refused. */
  #readField(path: string, { shown, name, value }: { shown: string; name: string; value: unknown }): unknown {
    const found = (Object.keys(ADJUSTABLE) as AdjustableName[]).find((one) => ADJUSTABLE[one].path === path);
    if (found === undefined) return this.#refuse(shown, reasonOf(name));
    if (!this.#allowed.has(found))
      return this.#refuse(
        shown,
        `the operator does not let it be adjusted here: ask for ${found} among adjustments.allowed`,
      );
    const parsed = (ADJUSTABLE[found].schema as z.ZodType).safeParse(value);
    return parsed.success ? parsed.data : this.#refuse(shown, describeProblem(parsed.error));
  }

  #toFields(given: unknown, shown: string): Fields {
    if (given === undefined) return {};
    if (typeof given === "object" && given !== null && !Array.isArray(given)) return given as Fields;
    this.#refuse(shown, "it is a map of fields");
    return {};
  }

  #refuseAll(fields: Fields, before: string): void {
    for (const name of Object.keys(fields)) this.#refuse(`${before}${name}`, reasonOf(name));
  }

  #refuse(path: string, message: string): undefined {
    const shown = path.slice(0, 512);
    if (!this.refused.some((one) => one.path === shown))
      this.refused.push({ path: shown, message: message.slice(0, 1024) });
    return undefined;
  }
}

function reasonOf(name: string): string {
  return (
    (Object.hasOwn(OF_THE_PLATFORM, name) ? OF_THE_PLATFORM[name] : undefined) ??
    "no field that can be adjusted; docs/operate/workloads.md lists them"
  );
}

function describeProblem(error: z.ZodError): string {
  const [first] = error.issues;
  if (!first) return "invalid";
  const where = first.path.map(String).join(".");
  const message = first.code === "invalid_key" ? (first.issues[0]?.message ?? first.message) : first.message;
  return where === "" ? message : `${where}: ${message}`;
}

// Reads the facts of a cluster for `cup doctor --cluster`: each list once, page by page, within a deadline. A fact that cannot be read is remembered with its reason.
import pLimit from "p-limit";
import { BackendClass } from "../../crds/backend-class/backend-class.ts";
import { SYSTEM_NAMESPACE } from "../../crds/groups.ts";
import { INDEX_GATE } from "../../crds/lrp/index-gate.ts";
import { LABELS } from "../../crds/labels.ts";
import { REGISTRY_SECRET } from "../../crds/registry-secret.ts";
import { Replica } from "../../crds/replica/replica.ts";
import {
  ClusterRole,
  ClusterRoleBinding,
  CustomResourceDefinition,
  Deployment,
  IngressClass,
  Job,
  Namespace,
  Pod,
  Role,
  RoleBinding,
  Secret,
  ValidatingAdmissionPolicy,
  ValidatingAdmissionPolicyBinding,
} from "../../kube/api/builtin.ts";
import type { KubeObject } from "../../kube/api/object.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { KubeError } from "../../kube/client/errors.ts";
import { cupolaVersion } from "../../platform/version.ts";
import { probeNetwork, probeRegistry } from "./probe/run-probe.ts";
import { CouldNotLook } from "./finding.ts";
import { newReader, type FactReader, type Surroundings } from "./fact-reader.ts";
import type { Facts, Readings } from "./facts.ts";
import { readCertificates, readHandshake, readNames } from "./read-addresses.ts";
import { readGateways, readMemory, readMetricsProblem, readMissingRights, readServer } from "./read-kubernetes.ts";
import { readLeases } from "./read-leases.ts";
import { readObjects } from "./read-objects.ts";
import { readWebhook } from "./read-webhook.ts";

export interface ReadOptions extends Surroundings {
  isBeforeInstallation: boolean;
  /** Start pods, and try what they can do. */
  probe: boolean;
  signal: AbortSignal;
}

/** Requests at a time: as few as leave a busy API server alone. */
const PARALLEL = 6;

type Result<T> = { value: T } | { why: CouldNotLook };
type Sources = { [Fact in keyof Facts]: () => Promise<Facts[Fact]> };

/** Reads everything, in parallel. Never rejects: each reading tells its own failure. */
export async function readFacts(kube: KubeClient, options: ReadOptions): Promise<Readings> {
  const sources = toSources(newReader(kube, options), options);
  const limit = pLimit(PARALLEL);
  const results = await Promise.all(
    Object.entries(sources).map(async ([fact, source]): Promise<[string, Result<unknown>]> => [
      fact,
      await limit(() => attempt(source as () => Promise<unknown>)),
    ]),
  );
  return toReadings(Object.fromEntries(results) as { [Fact in keyof Facts]: Result<Facts[Fact]> });
}

async function attempt<T>(source: () => Promise<T>): Promise<Result<T>> {
  try {
    return { value: await source() };
  } catch (cause) {
    if (cause instanceof CouldNotLook) return { why: cause };
    const message =
      cause instanceof KubeError && cause.code === 403 ? toRight(cause) : String((cause as Error).message);
    return { why: new CouldNotLook(message, { cause }) };
  }
}

/** kube-apiserver's sentence begins with the object's name, which is empty for a list. */
function toRight({ message }: KubeError): string {
  return message.replace(/^.* is forbidden: /, "");
}

function toReadings(results: { [Fact in keyof Facts]: Result<Facts[Fact]> }): Readings {
  return Object.fromEntries(
    Object.entries(results).map(([fact, result]) => [
      fact,
      () => {
        if ("why" in result) throw result.why;
        return result.value;
      },
    ]),
  ) as unknown as Readings;
}

const OURS = { labelSelector: "app.kubernetes.io/name=cupola" };
const IN_SYSTEM = { namespace: SYSTEM_NAMESPACE };

function toSources(reader: FactReader, options: ReadOptions): Sources {
  const { isBeforeInstallation } = options;
  const platform = platformSources(reader, options);
  const early = (): Promise<never> => Promise.reject(new CouldNotLook("Cupola is not installed yet"));
  const skipped = Object.fromEntries(Object.keys(platform).map((fact) => [fact, early])) as unknown as PlatformSources;
  return { ...kubernetesSources(reader, options), ...(isBeforeInstallation ? skipped : platform) };
}

/** Facts that there are before an installation, too. */
type EarlyFact =
  | "now"
  | "isBeforeInstallation"
  | "isProbing"
  | "cupVersion"
  | "kubernetes"
  | "clockAheadMs"
  | "admissionResources"
  | "missingRights"
  | "ingressClasses"
  | "classes"
  | "gateways"
  | "metricsProblem";
type PlatformSources = Omit<Sources, EarlyFact>;

function kubernetesSources(
  reader: FactReader,
  { isBeforeInstallation, probe, now }: ReadOptions,
): Pick<Sources, EarlyFact> {
  const server = once(() => readServer(reader));
  const classes = once(() => (isBeforeInstallation ? Promise.resolve([]) : reader.list(BackendClass)));
  return {
    // Times of objects are kube-apiserver's.
    now: async () => now() + (await server()).clockAheadMs,
    isBeforeInstallation: () => Promise.resolve(isBeforeInstallation),
    isProbing: () => Promise.resolve(probe),
    cupVersion: () => Promise.resolve(cupolaVersion()),
    kubernetes: async () => (await server()).kubernetes,
    clockAheadMs: async () => (await server()).clockAheadMs,
    admissionResources: async () => (await server()).admissionResources,
    missingRights: () => (isBeforeInstallation ? readMissingRights(reader) : Promise.resolve([])),
    ingressClasses: () => reader.list(IngressClass),
    classes,
    gateways: async () => readGateways(reader, await classes()),
    metricsProblem: () => readMetricsProblem(reader),
  };
}

function platformSources(reader: FactReader, options: ReadOptions): PlatformSources {
  const { list, listRows } = reader;
  const deployments = once(() => list(Deployment, { ...IN_SYSTEM, ...OURS }));
  return {
    ...installationSources(reader),
    deployments,
    pods: () => list(Pod, { ...IN_SYSTEM, ...OURS }),
    replicas: () => list(Replica, IN_SYSTEM),
    leases: async () => readLeases(reader, { deployments: await deployments(), now: options.now() }),
    webhook: () => readWebhook(reader),
    certificates: async () => readCertificates(reader, await deployments()),
    handshake: async () => readHandshake(reader, await deployments()),
    names: async () => readNames(reader, await deployments()),
    namespaces: () => list(Namespace, { labelSelector: LABELS.ownerUid }),
    pullSecrets: () =>
      listRows(Secret, ({ metadata }) => metadata.namespace, {
        fieldSelector: `metadata.name=${REGISTRY_SECRET}`,
        metadata: true,
      }),
    gatedPods: () => listRows(Pod, toGatedPod, { labelSelector: LABELS.lrp, fieldSelector: "status.phase=Pending" }),
    objects: () => readObjects(reader),
    memoryInUse: () => readMemory(reader),
    registryProbe: async () => (options.probe ? probeRegistry(reader, await deployments()) : undefined),
    networkProbe: async () => (options.probe ? probeNetwork(reader, await deployments()) : undefined),
  };
}

type InstallationFact =
  | "definitions"
  | "clusterRoles"
  | "clusterRoleBindings"
  | "policies"
  | "policyBindings"
  | "jobs"
  | "roles"
  | "roleBindings";

function installationSources({ list, listRows }: FactReader): Pick<Sources, InstallationFact> {
  return {
    definitions: () => listRows(CustomResourceDefinition, (crd) => (isOurs(crd) ? crd : undefined)),
    clusterRoles: () => listRows(ClusterRole, (role) => (isNamedOurs(role) ? role : undefined)),
    clusterRoleBindings: () => listRows(ClusterRoleBinding, (one) => (refersToOurs(one) ? one : undefined)),
    policies: () => list(ValidatingAdmissionPolicy),
    policyBindings: () => list(ValidatingAdmissionPolicyBinding),
    jobs: () => list(Job, IN_SYSTEM),
    roles: () => list(Role, IN_SYSTEM),
    roleBindings: () => list(RoleBinding, IN_SYSTEM),
  };
}

/** Several facts come from one reading. */
function once<T>(read: () => Promise<T>): () => Promise<T> {
  let reading: Promise<T> | undefined;
  return () => (reading ??= read());
}

const isOurs = ({ metadata }: KubeObject): boolean => metadata.name.endsWith("cupola.dev");
const isNamedOurs = ({ metadata }: KubeObject): boolean => metadata.name.startsWith("cupola");
const refersToOurs = ({ roleRef }: { roleRef: { name: string } }): boolean => roleRef.name.startsWith("cupola");

function toGatedPod({ metadata, spec }: KubeObject): Facts["gatedPods"][number] | undefined {
  const { schedulingGates = [] } = spec as { schedulingGates?: { name: string }[] };
  if (!schedulingGates.some(({ name }) => name === INDEX_GATE)) return undefined;
  const { namespace = "", name, creationTimestamp = "" } = metadata;
  return { namespace, name, createdAt: Date.parse(creationTimestamp) };
}

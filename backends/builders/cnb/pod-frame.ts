// Common parts of a build's Pods: owner, labels, deadline, Pod Security `restricted`, sizes, and how the lifecycle's programs get settings and credentials. Pure.
import { ANNOTATIONS, STABLE_LABELS } from "../../../crds/labels.ts";
import type { Staging } from "../../../crds/staging/staging.ts";
import type { Draft } from "../../../kube/client/client.ts";
import { toOwnerReference } from "../staging-owner.ts";
import { toRegistrySecretName } from "./build-paths.ts";
import type { BuilderImage } from "./builder-image.ts";
import { LIFECYCLE_AUTH_KEY } from "./plan-secrets.ts";

/** With less memory the lifecycle and Node cannot even unpack a package. */
const MIN_MEMORY_MB = 512;
const GRACE_SECONDS = 2;
/** The kubelet keeps what is written here, so the lifecycle's report needs no container that reads it. */
export const REPORT = "/dev/termination-log";

export interface PodFrame {
  staging: Staging;
  builder: Pick<BuilderImage, "uid" | "gid" | "platformAPI">;
  /** Hosts to reach by plain http. */
  insecureHosts: readonly string[];
  hasCredentials: boolean;
  /** Seconds until the build's time is up. */
  secondsLeft: number;
}

interface Container {
  name: string;
  image: string;
  command?: string[];
  args: string[];
  env: object[];
  mounts: object[];
  /** Whether its last lines may stand in the Pod's status when it fails. */
  showsFailure: boolean;
}

/** The last container is the main one, the others run before it, one by one. */
export function planFrame(
  { staging, builder, hasCredentials, secondsLeft }: PodFrame,
  name: string,
  { containers, volumes }: { containers: readonly Container[]; volumes: readonly object[] },
): Draft {
  const { namespace, labels = {}, annotations = {} } = staging.metadata;
  const planned = containers.map((container) => planContainer(staging, container));
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name,
      ...(namespace && { namespace }),
      labels: pick(labels, Object.values(STABLE_LABELS)),
      annotations: pick(annotations, [ANNOTATIONS.appName, ANNOTATIONS.spaceName, ANNOTATIONS.orgName]),
      ownerReferences: [toOwnerReference(staging)],
    },
    spec: {
      restartPolicy: "Never",
      activeDeadlineSeconds: Math.max(1, secondsLeft),
      terminationGracePeriodSeconds: GRACE_SECONDS,
      automountServiceAccountToken: false,
      enableServiceLinks: false,
      nodeSelector: { "kubernetes.io/os": "linux" },
      securityContext: {
        runAsNonRoot: true,
        runAsUser: builder.uid,
        runAsGroup: builder.gid,
        fsGroup: builder.gid,
        seccompProfile: { type: "RuntimeDefault" },
      },
      ...(hasCredentials && { imagePullSecrets: [{ name: toRegistrySecretName(staging) }] }),
      initContainers: planned.slice(0, -1),
      containers: planned.slice(-1),
      ...(volumes.length > 0 && { volumes }),
    },
  };
}

function pick(values: Readonly<Record<string, string>>, keys: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    keys.flatMap((key): [string, string][] => (values[key] === undefined ? [] : [[key, values[key]]])),
  );
}

function planContainer(staging: Staging, container: Container): Record<string, unknown> {
  const { name, image, command, args, env, mounts, showsFailure } = container;
  return {
    name,
    image,
    ...(command && { command }),
    args,
    env,
    resources: planResources(staging.spec),
    ...(mounts.length > 0 && { volumeMounts: mounts }),
    terminationMessagePolicy: showsFailure ? "FallbackToLogsOnError" : "File",
    securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ["ALL"] } },
  };
}

/** The containers run one after the other, so the Pod needs as much as one of them. */
function planResources({ memoryMB, diskMB }: Staging["spec"]): Record<string, Record<string, string>> {
  const memory = Math.max(memoryMB, MIN_MEMORY_MB);
  const sizes = { memory: `${memory}Mi`, "ephemeral-storage": `${diskMB}Mi` };
  return { requests: { cpu: `${Math.round((100 * memory) / 1024)}m`, ...sizes }, limits: sizes };
}

export function planLifecycleEnv({ builder, insecureHosts }: Pick<PodFrame, "builder" | "insecureHosts">): object[] {
  return [
    { name: "CNB_PLATFORM_API", value: builder.platformAPI },
    { name: "CNB_NO_COLOR", value: "true" },
    ...(insecureHosts.length > 0 ? [{ name: "CNB_INSECURE_REGISTRIES", value: insecureHosts.join(",") }] : []),
  ];
}

/** By environment and not as a file: a symlink that a build leaves in the workspace can lead the exporter to a file. */
export function planAuth({ staging, hasCredentials }: Pick<PodFrame, "staging" | "hasCredentials">): object[] {
  if (!hasCredentials) return [];
  const secretKeyRef = { name: toRegistrySecretName(staging), key: LIFECYCLE_AUTH_KEY };
  return [{ name: "CNB_REGISTRY_AUTH", valueFrom: { secretKeyRef } }];
}

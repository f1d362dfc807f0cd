// The objects of one build with kpack: its Build, and a ServiceAccount with the registry's credentials, by which kpack finds them. Pure.
import { STABLE_LABELS } from "../../../crds/labels.ts";
import type { Staging } from "../../../crds/staging/staging.ts";
import type { Draft } from "../../../kube/client/client.ts";
import { apiVersionOf } from "../../../kube/api/resource-ref.ts";
import { toBuildImages } from "../build-images.ts";
import { toOwnerReference } from "../staging-owner.ts";
import { KpackBuild } from "./kpack-build.ts";

export interface KpackBuildInput {
  staging: Staging;
  builderImage: string;
  runImage: string | undefined;
  /** `host[:port]/path` of the platform's images and blobs. */
  registryPrefix: string;
  /** Digest of the package's content. */
  content: string;
  secondsLeft: number;
}

/** Name of the Secret and of the ServiceAccount, which exist as long as the build. */
export const toCredentialsName = ({ metadata }: Staging): string => `${metadata.name}-kpack`;

export function planKpackBuild(input: KpackBuildInput): Draft {
  const { staging, builderImage, runImage, registryPrefix, content, secondsLeft } = input;
  const { memoryMB, diskMB, env, space } = staging.spec;
  const { image, latest, cache } = toBuildImages(registryPrefix, staging.spec);
  const imagePullSecrets = [{ name: toCredentialsName(staging) }];
  const sizes = { memory: `${memoryMB}Mi`, "ephemeral-storage": `${diskMB}Mi` };
  const { labels = {} } = staging.metadata;
  return {
    apiVersion: apiVersionOf(KpackBuild),
    kind: KpackBuild.kind,
    metadata: {
      ...toMetadata(staging, staging.metadata.name),
      // kpack copies them to the Pod, whose log is found by them.
      labels: Object.fromEntries(
        Object.values(STABLE_LABELS).flatMap((key) => (labels[key] === undefined ? [] : [[key, labels[key]]])),
      ),
    },
    spec: {
      tags: [image, latest],
      // The kubelet pulls it with the ServiceAccount's. Named here as well, kpack would mount the Secret twice at one path.
      builder: { image: builderImage },
      serviceAccountName: toCredentialsName(staging),
      source: { registry: { image: toPackageImage(registryPrefix, space.guid, content), imagePullSecrets } },
      cache: { registry: { tag: cache } },
      ...(runImage && { runImage: { image: runImage } }),
      // kpack takes values only in plain text, which is no place for a secret.
      env: env.flatMap(({ name, value }) => (value === undefined ? [] : [{ name, value }])),
      resources: { requests: sizes, limits: sizes },
      activeDeadlineSeconds: Math.max(1, secondsLeft),
    },
  };
}

/** The image in which the registry store keeps a content (blobs/registry/content-image.ts). */
function toPackageImage(prefix: string, space: string, content: string): string {
  return `${prefix}/${space}/package:content-${content.slice("sha256:".length)}`;
}

/** @param dockerConfig the content of a dockerconfigjson, if the platform has credentials */
export function planCredentials(staging: Staging, dockerConfig: string | undefined): Draft[] {
  const metadata = toMetadata(staging, toCredentialsName(staging));
  const references = [{ name: metadata.name }];
  const account: Draft = {
    apiVersion: "v1",
    kind: "ServiceAccount",
    metadata,
    automountServiceAccountToken: false,
    ...(dockerConfig !== undefined && { secrets: references, imagePullSecrets: references }),
  };
  if (dockerConfig === undefined) return [account];
  return [
    {
      apiVersion: "v1",
      kind: "Secret",
      metadata,
      type: "kubernetes.io/dockerconfigjson",
      immutable: true,
      data: { ".dockerconfigjson": Buffer.from(dockerConfig).toString("base64") },
    },
    account,
  ];
}

function toMetadata(
  staging: Staging,
  name: string,
): { name: string; namespace?: string; ownerReferences: ReturnType<typeof toOwnerReference>[] } {
  const { namespace } = staging.metadata;
  return { name, ...(namespace && { namespace }), ownerReferences: [toOwnerReference(staging)] };
}

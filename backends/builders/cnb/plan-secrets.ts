// The two Secrets of one build: its environment and order of buildpacks as files, and the credentials of the registry. Pure.
import { findCredentials, parseDockerConfig, type RegistryCredentials } from "../../../blobs/registry/docker-config.ts";
import { isDockerHub, parseImageName } from "../../../blobs/registry/image-name.ts";
import type { EnvVar } from "../../../crds/schema-fields.ts";
import type { Staging } from "../../../crds/staging/staging.ts";
import type { Draft } from "../../../kube/client/client.ts";
import { StagingFailure } from "../staging-failure.ts";
import { toOwnerReference } from "../staging-owner.ts";
import { toEnvSecretName, toRegistrySecretName } from "./build-paths.ts";

/** Keys of the registry Secret. */
export const DOCKER_CONFIG_KEY = ".dockerconfigjson";
export const LIFECYCLE_AUTH_KEY = "lifecycle-auth";
/** The detector's order, or the file from which the first container makes it. */
const ORDER_KEYS = { chosen: "order.toml", brought: "buildpacks.json" } as const;

/** Sources of the build, as the exporter takes them. */
export const INPUTS_FILE: SecretFile = { key: "project-metadata.toml", path: "project-metadata.toml" };

/** A Secret holds 1 MiB at most, base64 of its values not counted. */
const MAX_SECRET_BYTES = 1_000_000;

/** Which key of a Secret becomes which file of a volume. */
export interface SecretFile {
  key: string;
  path: string;
}

/** Files of the platform folder, in the order of the variables. The keys hold no names, since a key takes fewer characters than a variable. */
export function toEnvFiles(env: readonly EnvVar[]): (SecretFile & { name: string })[] {
  return env.flatMap(({ name }, at) => (canBeFile(name) ? [{ name, key: `variable-${at}`, path: `env/${name}` }] : []));
}

/** The specification hands variables over as files, so a name with "/" cannot be one. */
function canBeFile(name: string): boolean {
  return /^(?!\.\.?$)(?!\.\.)[^/\0:=]{1,255}$/.test(name);
}

export function toOrderFile(order: keyof typeof ORDER_KEYS): SecretFile {
  return { key: ORDER_KEYS[order], path: ORDER_KEYS[order] };
}

/** The order of the detector, as a file of this kind. */
export interface OrderText {
  kind: keyof typeof ORDER_KEYS;
  text: string;
}

/** @param values of the variables by name. @param inputs the content of INPUTS_FILE. @throws StagingFailure when they are too large for a Secret */
export function planEnvSecret(
  staging: Staging,
  values: Readonly<Record<string, string>>,
  { order, inputs }: { order: OrderText | undefined; inputs: string },
): Draft {
  const files = toEnvFiles(staging.spec.env).map(({ key, name }): [string, string] => [key, values[name] ?? ""]);
  const data = Object.fromEntries([
    ...files,
    ...(order === undefined ? [] : [[ORDER_KEYS[order.kind], order.text] as const]),
    [INPUTS_FILE.key, inputs] as const,
  ]);
  const bytes = Object.values(data).reduce((sum, value) => sum + Buffer.byteLength(value), 0);
  if (bytes > MAX_SECRET_BYTES)
    throw new StagingFailure(
      "StagingError",
      `the environment of the build has ${bytes} bytes, and ${MAX_SECRET_BYTES} are the most that a build takes`,
    );
  return secret(staging, toEnvSecretName(staging), "Opaque", data);
}

/** @param dockerConfig the content of a dockerconfigjson. @param images those that the lifecycle reads or writes, the most important first */
export function planRegistrySecret(staging: Staging, dockerConfig: string, images: readonly string[]): Draft {
  return secret(staging, toRegistrySecretName(staging), "kubernetes.io/dockerconfigjson", {
    [DOCKER_CONFIG_KEY]: dockerConfig,
    [LIFECYCLE_AUTH_KEY]: JSON.stringify(toLifecycleAuth(dockerConfig, images)),
  });
}

function secret(staging: Staging, name: string, type: string, data: Record<string, string>): Draft {
  const { namespace } = staging.metadata;
  return {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name, ...(namespace && { namespace }), ownerReferences: [toOwnerReference(staging)] },
    type,
    immutable: true,
    data: Object.fromEntries(Object.entries(data).map(([key, value]) => [key, Buffer.from(value).toString("base64")])),
  };
}

/** The value of CNB_REGISTRY_AUTH: an Authorization header by registry. Of two images of one registry the first one's credentials count. */
export function toLifecycleAuth(dockerConfig: string, images: readonly string[]): Record<string, string> {
  const config = parseDockerConfig(dockerConfig);
  const entries = images.flatMap((image): [string, string][] => {
    const { host, repository } = parseImageName(image);
    const credentials = findCredentials(config, host, repository);
    // The lifecycle calls Docker Hub by its older name.
    return credentials ? [[isDockerHub(host) ? "index.docker.io" : host, toHeader(credentials)]] : [];
  });
  return Object.fromEntries(entries.toReversed());
}

function toHeader(credentials: RegistryCredentials): string {
  if ("identityToken" in credentials) return `X-Identity ${credentials.identityToken}`;
  const { username, password } = credentials;
  return `Basic ${Buffer.from(`${username}:${password}`).toString("base64")}`;
}

// Names of one build: its Pod and Secrets. Pure.
import { createHash } from "node:crypto";
import type { Staging } from "../../../crds/staging/staging.ts";

const MAX_NAME_LENGTH = 63;

/** Name of the Pod, and prefix of the names of its Secrets: the Staging's, so that a second attempt finds the first. */
export function toPodName(staging: Staging): string {
  const name = `${staging.metadata.name}-build`;
  // Pods are host names, which take no dots and 63 characters.
  if (name.length <= MAX_NAME_LENGTH && !name.includes(".")) return name;
  const digest = createHash("sha256").update(name).digest("hex").slice(0, 10);
  const readable = staging.metadata.name.replaceAll(".", "-").slice(0, MAX_NAME_LENGTH - "-build-".length - 10);
  return `${readable}-build-${digest}`;
}

export const toEnvSecretName = (staging: Staging): string => `${toPodName(staging)}-env`;
export const toRegistrySecretName = (staging: Staging): string => `${toPodName(staging)}-registry`;

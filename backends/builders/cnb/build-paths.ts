// Names of one build: its Pods and Secrets. Pure.
import { createHash } from "node:crypto";
import type { Staging } from "../../../crds/staging/staging.ts";

const MAX_NAME_LENGTH = 63;

/** Name of the Pod, and prefix of the names of its Secrets: the Staging's, so that a second attempt finds the first. */
export const toPodName = (staging: Staging): string => toName(staging, "build");
/** Name of the Pod that gives the app's last image another base. */
export const toRebasePodName = (staging: Staging): string => toName(staging, "rebase");

function toName(staging: Staging, purpose: string): string {
  const name = `${staging.metadata.name}-${purpose}`;
  // Pods are host names, which take no dots and 63 characters.
  if (name.length <= MAX_NAME_LENGTH && !name.includes(".")) return name;
  const digest = createHash("sha256").update(name).digest("hex").slice(0, 10);
  const readable = staging.metadata.name.replaceAll(".", "-").slice(0, MAX_NAME_LENGTH - purpose.length - 2 - 10);
  return `${readable}-${purpose}-${digest}`;
}

export const toEnvSecretName = (staging: Staging): string => `${toPodName(staging)}-env`;
export const toRegistrySecretName = (staging: Staging): string => `${toPodName(staging)}-registry`;

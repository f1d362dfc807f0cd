// Retries of refusals that contradict RBAC as we know it: kube-apiserver's own RBAC cache lags behind a new binding.
import { setTimeout as sleep } from "node:timers/promises";
import { isForbidden, type KubeError, type Status } from "../../kube/client/errors.ts";
import { isAdmissionDenial } from "../http/error-translation.ts";

/** How long a refusal is retried, milliseconds. */
const RBAC_LAG_MS = 2000;

/** Whether RBAC denied it, which may be lag. A denial by an admission policy is final, and so is one because the namespace is being deleted. */
export function isRbacDenial(error: unknown): boolean {
  return isForbidden(error) && !isAdmissionDenial(error) && !isNamespaceTerminating(error);
}

function isNamespaceTerminating({ details }: KubeError): boolean {
  return details?.causes?.some(({ reason }) => reason === "NamespaceTerminating") ?? false;
}

/** Retries with exponential backoff for two seconds while `shouldRetry` accepts the error. */
export async function retryWhile<T>(
  attempt: () => Promise<T | Status>,
  shouldRetry: (error: unknown) => boolean,
  signal: AbortSignal,
): Promise<T> {
  const deadline = Date.now() + RBAC_LAG_MS;
  for (let backoff = 20; ; backoff *= 2) {
    try {
      return (await attempt()) as T;
    } catch (error) {
      if (!shouldRetry(error) || Date.now() + backoff > deadline) throw error;
    }
    await sleep(backoff, undefined, { signal });
  }
}

/** The platform's own access to a Secret of a space: in a new space its RoleBinding may count some moments later. */
export function accessSecret<T>(attempt: () => Promise<T>, signal: AbortSignal): Promise<T> {
  return retryWhile(attempt, isRbacDenial, signal);
}

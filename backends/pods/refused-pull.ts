// Which errors of a pull stay, and whether a refused one is a failure yet, or only kubelet's first attempt. Pure.
import { findAppContainer, sinceLastStep } from "./pod-progress.ts";
import type { PodObject } from "./slim-pod.ts";

/** Texts of registries that want other credentials. A bare number may be part of the image's name. */
const REFUSED =
  /\b(?:status(?: code)?|HTTP):? 40[13]\b|unauthorized|authentication required|denied|forbidden|no basic auth/i;

/** Texts of registries without such an image, and of names that no image can have. */
const ABSENT =
  /not found|manifest unknown|name unknown|does not exist|invalid reference|couldn't parse|no match for platform/i;

/** Kubelet asks without credentials when it cannot read the pull Secret within a second, and asks again 10 to 15 s later: until the answer to that is there, its first one stands. */
const SECOND_PULL_MS = 20_000;

/** Whether another attempt gets the same answer. Ask `isFirstRefusal`, too. */
export function isPermanentPullError(message: string): boolean {
  return ABSENT.test(message) || REFUSED.test(message);
}

/** Whether kubelet has not yet had the time for a second attempt. @param waitedMs since the container could have been started */
export function isFirstRefusal(message: string, waitedMs: number): boolean {
  return REFUSED.test(message) && waitedMs < SECOND_PULL_MS;
}

/** Milliseconds until a pull of the instance's image that is refused now is a failure: kubelet has asked twice. Undefined when no such wait is under way. */
export function untilSecondPull(pod: PodObject, now: Date): number | undefined {
  const { message = "" } = findAppContainer(pod)?.state?.waiting ?? {};
  const waitedMs = sinceLastStep(pod, now);
  return isFirstRefusal(message, waitedMs) ? SECOND_PULL_MS - waitedMs : undefined;
}

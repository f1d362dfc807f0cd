// Whether a refused pull of an image is a failure, or only kubelet's first attempt. Pure.

/** Texts of registries that want other credentials. */
const REFUSED = /\b401\b|\b403\b|unauthorized|authentication required|denied|forbidden|no basic auth/i;

/** Kubelet asks without credentials when it cannot read the pull Secret within a second, and asks again 10 to 15 s later: until the answer to that is there, its first one stands. */
export const SECOND_PULL_MS = 20_000;

/** Whether kubelet has not yet had the time for a second attempt. @param waitedMs since the container could have been started */
export function isFirstRefusal(message: string, waitedMs: number): boolean {
  return REFUSED.test(message) && waitedMs < SECOND_PULL_MS;
}

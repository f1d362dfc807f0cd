// The last message of a pod of the doctor's probe: written by probe.ts in the pod, read by `cup doctor --cluster --probe`.
import { z } from "zod";

/** The first step of the registry that failed, and why the builder image cannot be used. */
export const registryOutcome = z.object({
  registry: z.object({ step: z.string(), message: z.string() }).optional(),
  builderImage: z.string().optional(),
});
export type RegistryOutcome = z.infer<typeof registryOutcome>;

/** Whether the port was reached that the probe's NetworkPolicy opens, and the one that it closes. */
export const networkOutcome = z.object({ isOpenReached: z.boolean(), isClosedReached: z.boolean() });
export type NetworkOutcome = z.infer<typeof networkOutcome>;

/** kubelet keeps 4096 bytes of a last message. */
const MAX_SENTENCE = 1000;

export function cutSentence(text: string): string {
  return text.slice(0, MAX_SENTENCE);
}

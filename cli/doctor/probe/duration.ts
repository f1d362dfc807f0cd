// How long the pods of a probe may take. The command, its help and its page say the same.

/** For each of two pods that start one after the other: the one that listens, and the one that reaches it. */
export const POD_DEADLINE_MS = 120_000;
export const PROBE_MINUTES = 4;
/** The pod that listens lives longer than the one that reaches it; one that a broken-off command left ends by itself. */
export const POD_SECONDS = 300;

// Faults of a run, and their times. Pure: the same seed gives the same faults.
import type { ControlPlaneComponent } from "../cluster/control-plane-commands.ts";

/** How often requests through the proxy go wrong; shares of 1. */
export interface Rates {
  /** Answered with an error of the server's instead of being passed on. */
  refused: number;
  /** Cut before it is passed on. */
  cutBefore: number;
  /** Passed on, and the answer is lost. */
  cutAfter: number;
  /** Passed on, and answered with a 504. */
  timedOut: number;
  /** Held back for some tenths of a second. */
  slow: number;
}

export type Fault = { atMs: number } & (
  | { what: "rates"; rates: Rates; lastMs: number }
  | { what: "drop-watches" | "expire-watches"; share: number }
  /** `dies`: nothing comes again for the rest of the run, and the connection stays open. */
  | { what: "stall-watches"; share: number; lastMs: number; dies: boolean }
  | { what: "kill"; replica: number; downMs: number }
  | { what: "revoke-platform" | "revoke-developer"; lastMs: number }
  | { what: "restart"; part: ControlPlaneComponent; downMs: number }
);

type Random = () => number;

/** The faults of one run, over in `lengthMs`; in the order in which they come. */
export function planFaults(random: Random, lengthMs: number, replicas: number): Fault[] {
  const at = (): number => Math.round(random() * lengthMs * 0.8);
  const last = (): number => Math.round((0.1 + random() * 0.3) * lengthMs);
  const some = (most: number): number => Math.floor(random() * (most + 1));
  const times = (count: number, make: () => Fault): Fault[] => Array.from({ length: count }, make);
  return [
    { atMs: 0, what: "rates", rates: planRates(random), lastMs: lengthMs } as Fault,
    ...times(some(2), () => ({ atMs: at(), what: "drop-watches", share: random() })),
    ...times(some(1), () => ({ atMs: at(), what: "expire-watches", share: random() })),
    ...times(some(2), () => ({
      atMs: at(),
      what: "stall-watches",
      share: random(),
      lastMs: last(),
      dies: random() < 0.3,
    })),
    ...times(some(2), () => ({
      atMs: at(),
      what: "kill",
      replica: Math.floor(random() * replicas),
      downMs: Math.round(random() * 1000),
    })),
    ...times(random() < 0.3 ? 1 : 0, () => ({ atMs: at(), what: "revoke-platform", lastMs: last() })),
    ...times(random() < 0.4 ? 1 : 0, () => ({ atMs: at(), what: "revoke-developer", lastMs: last() })),
    ...planRestart(random, at()),
  ].toSorted((a, b) => a.atMs - b.atMs);
}

/** Some runs are nearly quiet, some are rough. */
function planRates(random: Random): Rates {
  const severity = random() ** 2 * 0.15;
  const share = (): number => random() * severity;
  return { refused: share() * 2, cutBefore: share(), cutAfter: share(), timedOut: share(), slow: share() * 2 };
}

function planRestart(random: Random, atMs: number): Fault[] {
  const dice = random();
  const part: ControlPlaneComponent | undefined = dice < 0.08 ? "kube-apiserver" : dice < 0.18 ? "etcd" : undefined;
  return part ? [{ atMs, what: "restart", part, downMs: Math.round(random() * 300) }] : [];
}

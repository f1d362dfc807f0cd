// A run of chaos: what people do and what goes wrong meanwhile, all from one number.
import { randomFrom } from "../random.ts";
import { planFaults, type Fault } from "./faults.ts";
import { planWorkload, type StepSequence } from "./workload.ts";

export interface Schedule {
  seed: number;
  workload: readonly StepSequence[];
  faults: readonly Fault[];
  /** After so long the faults are over, whether or not the load is. Milliseconds. */
  lengthMs: number;
}

export const REPLICAS = 3;
const LENGTH_MS = 3000;

/** The schedule of a seed; the same one every time. */
export function planSchedule(seed: number): Schedule {
  const random = randomFrom(seed);
  return {
    seed,
    workload: planWorkload(random, LENGTH_MS),
    faults: planFaults(random, LENGTH_MS, REPLICAS),
    lengthMs: LENGTH_MS,
  };
}

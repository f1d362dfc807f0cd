// Facts that the agent of a cluster keeps in a ConfigMap of the system namespace there, for its hub. The hub trusts none of it beyond a number or a short text.
import { z } from "zod";

/** Name of the ConfigMap. */
export const FACTS_CONFIG = "cupola-facts";

export interface SpokeFacts {
  /** Version of Cupola there. */
  cupola?: string | undefined;
  /** Memory that the nodes have for pods, and memory that pods have asked for. Both or neither. */
  capacity?: { memoryMB: number; requestedMemoryMB: number } | undefined;
}

const KEYS = { cupola: "cupola-version", memoryMB: "memory-mb", requestedMemoryMB: "requested-memory-mb" } as const;

const version = z.string().regex(/^[\w.+-]{1,63}$/);
const megabytes = z
  .string()
  .regex(/^\d{1,12}$/)
  .transform(Number);

export function toFactsData({ cupola, capacity }: SpokeFacts): Record<string, string> {
  return {
    ...(cupola !== undefined && { [KEYS.cupola]: cupola }),
    ...(capacity && {
      [KEYS.memoryMB]: String(capacity.memoryMB),
      [KEYS.requestedMemoryMB]: String(capacity.requestedMemoryMB),
    }),
  };
}

/** A value that is none is left out. */
export function parseFacts(data: Readonly<Record<string, string>> = {}): SpokeFacts {
  const cupola = version.safeParse(data[KEYS.cupola]).data;
  const memoryMB = megabytes.safeParse(data[KEYS.memoryMB]).data;
  const requestedMemoryMB = megabytes.safeParse(data[KEYS.requestedMemoryMB]).data;
  return {
    ...(cupola !== undefined && { cupola }),
    ...(memoryMB !== undefined && requestedMemoryMB !== undefined && { capacity: { memoryMB, requestedMemoryMB } }),
  };
}

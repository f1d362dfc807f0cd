// The next step after a refusal by a quota: which quota, what is left of it, and a size that fits.
import type { Context } from "../context.ts";
import { readQuota, type QuotaPlace } from "./read-quota.ts";
import type { Quota, Usage } from "./usage.ts";

/** A refusal in CF's words: the place whose quota it is, and the limit. */
export interface QuotaRefusal {
  place: QuotaPlace;
  limit: "memory" | "instanceMemory" | "instances";
}

/** Demand of the refused request, and the command that asks for less. */
export interface WantedSize {
  /** `cup push shop`. */
  command: string;
  /** Text after the size: ` && cup start shop`. */
  after?: string;
  instances: number;
  /** Whether the command itself names the instances. */
  isCountAsked?: boolean;
  /** The part of the usage that the request replaces. */
  held: { instances: number; memoryMB: number };
}

/** Message about the quota, and the next step. */
export interface QuotaAdvice {
  quota: string;
  next: string;
}

const TEXTS: readonly (readonly [RegExp, QuotaRefusal["limit"]])[] = [
  [/memory (space_)?instance_memory_limit_exceeded/, "instanceMemory"],
  [/memory (space_)?quota_exceeded/, "memory"],
  [/memory_in_mb exceeds (?:(space)|organization) instance memory quota/, "instanceMemory"],
  [/memory_in_mb exceeds (?:(space)|organization) memory quota/, "memory"],
  [/app_instance_limit (space_)?app_instance_limit_exceeded/, "instances"],
];

/** The first limit that the API's message names; undefined for another refusal. Pure. */
export function findQuotaRefusal(message: string): QuotaRefusal | undefined {
  for (const [pattern, limit] of TEXTS) {
    const found = pattern.exec(message);
    if (found) return { place: found[1] === undefined ? "org" : "space", limit };
  }
  return undefined;
}

/** Reads the quota and its usage. @returns undefined when there is none @throws Failure when the user may not read it */
export async function adviseQuota(
  { api, org, space }: Context,
  refusal: QuotaRefusal,
  wanted: WantedSize,
): Promise<QuotaAdvice | undefined> {
  const { guid } = await (refusal.place === "space" ? space() : org());
  const { quota, usage } = await readQuota(api, refusal.place, guid);
  return quota && describeQuota(refusal, wanted, { quota, usage });
}

/** An app needs at least this much. */
const LEAST_MB = 16;
export const FREE_SOME = "delete or scale down what is not needed (cup apps), or ask an operator for a larger quota";

/** Pure. */
export function describeQuota(
  { place, limit }: QuotaRefusal,
  { command, after = "", instances, isCountAsked, held }: WantedSize,
  { quota: { name, apps }, usage }: { quota: Quota; usage: Usage },
): QuotaAdvice | undefined {
  const most = apps[LIMITS[limit]];
  if (most === null) return undefined;
  const title = `${place} quota ${name}`;
  const ofMemory = roomOf(apps.total_memory_in_mb, usage.memory_in_mb - held.instances * held.memoryMB);
  const memoryMB = Math.floor(Math.min(apps.per_process_memory_in_mb ?? Infinity, ofMemory / Math.max(1, instances)));
  const count = isCountAsked ? ` -i ${instances}` : "";
  const size = memoryMB >= LEAST_MB ? `${command}${count} -m ${memoryMB}M${after}` : FREE_SOME;
  if (limit === "instanceMemory") return { quota: `${title}: at most ${most}M for an instance`, next: size };
  if (limit === "memory")
    return { quota: `${title}: ${tellRoom(most, usage.memory_in_mb, "M")} of memory`, next: size };
  const room = roomOf(most, usage.started_instances - held.instances);
  return {
    quota: `${title}: ${tellRoom(most, usage.started_instances)} instances`,
    next: room > 0 ? `${command} -i ${room}${after}` : FREE_SOME,
  };
}

const LIMITS = {
  memory: "total_memory_in_mb",
  instanceMemory: "per_process_memory_in_mb",
  instances: "total_instances",
} as const;

const roomOf = (most: number | null, used: number): number => (most === null ? Infinity : Math.max(0, most - used));

function tellRoom(most: number, used: number, unit = ""): string {
  return `${used}${unit} used and ${roomOf(most, used)}${unit} left of ${most}${unit}`;
}

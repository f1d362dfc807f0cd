// The fields of a pod template that can be adjusted, and the choice of the operator among them. All others are the platform's. Pure.
import { z } from "zod";
import type { BackendClass } from "../backend-class/backend-class.ts";
import { isReservedKey } from "../labels.ts";

/** Fields that a class lets people adjust, unless its parameter says otherwise. */
export const ALLOWED_PARAMETER = "adjustments.allowed";

/** Capability of a runner's class: `podTemplate` where it applies adjustments. */
export const ADJUSTMENTS_CAPABILITY = "adjustments";
export const ADJUSTS_POD_TEMPLATE = "podTemplate";

const MAX_KEYS = 50;
const MAX_ITEMS = 50;
const MAX_GRACE_SECONDS = 3600;

/** This prefix of reserved annotations is for people: it tells the autoscaler which pods it may move. */
const AUTOSCALER_PREFIX = "cluster-autoscaler.kubernetes.io/";

const KEY = /^([a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?\/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/;
const LABEL_VALUE = /^([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$/;

const key = z.string().max(317).regex(KEY);
/** Container runtimes read such annotations and labels, which need no slash: io.kubernetes.cri-o.umask. */
const RUNTIME_PREFIX = "io.";
const isFree = (name: string): boolean => !isReservedKey(name) && !name.startsWith(RUNTIME_PREFIX);
const mapOf = (keys: z.ZodString, values: z.ZodString) =>
  z.record(keys, values).refine((map) => Object.keys(map).length <= MAX_KEYS, `at most ${MAX_KEYS} keys`);

const RESERVED = `cupola.dev, kubernetes.io and k8s.io, and those that begin with ${RUNTIME_PREFIX},`;
const freeKey = key.refine(isFree, `keys below ${RESERVED} are reserved`);
const annotationKey = key.refine(
  (name) => isFree(name) || name.startsWith(AUTOSCALER_PREFIX),
  `keys below ${RESERVED} are reserved, except ${AUTOSCALER_PREFIX}`,
);
const anyObject = z.record(z.string().max(253), z.unknown());
const text = z.string().max(253);

export const quantity = z
  .string()
  .max(16)
  .regex(/^[0-9]+(\.[0-9]+)?m?$/, "a CPU quantity such as 250m or 2");

const toleration = z.strictObject({
  key: text.optional(),
  operator: z.enum(["Exists", "Equal"]).optional(),
  value: z.string().max(63).optional(),
  effect: z.enum(["NoSchedule", "PreferNoSchedule", "NoExecute"]).optional(),
  tolerationSeconds: z.int().optional(),
});

const spread = z.looseObject({
  maxSkew: z.int().min(1),
  topologyKey: text,
  whenUnsatisfiable: z.enum(["DoNotSchedule", "ScheduleAnyway"]),
});

const affinity = z.strictObject({
  nodeAffinity: anyObject.optional(),
  podAffinity: anyObject.optional(),
  podAntiAffinity: anyObject.optional(),
});

const dnsConfig = z.strictObject({
  nameservers: z.array(text).max(3).optional(),
  searches: z.array(text).max(32).optional(),
  options: z
    .array(z.strictObject({ name: text, value: text.optional() }))
    .max(20)
    .optional(),
});

const hostAlias = z.strictObject({ ip: z.union([z.ipv4(), z.ipv6()]), hostnames: z.array(text).min(1).max(20) });

/** A field that can be adjusted. */
export interface AdjustableField {
  /** Its path: `spec.tolerations`; containers are not numbered. */
  path: string;
  schema: z.ZodType;
  byDefault: boolean;
}

/** By the word that an operator writes. */
export const ADJUSTABLE = {
  labels: { path: "metadata.labels", schema: mapOf(freeKey, z.string().regex(LABEL_VALUE)), byDefault: true },
  annotations: { path: "metadata.annotations", schema: mapOf(annotationKey, z.string().max(4096)), byDefault: true },
  tolerations: { path: "spec.tolerations", schema: z.array(toleration).max(MAX_ITEMS), byDefault: true },
  nodeSelector: { path: "spec.nodeSelector", schema: mapOf(key, z.string().regex(LABEL_VALUE)), byDefault: true },
  affinity: { path: "spec.affinity", schema: affinity, byDefault: true },
  topologySpreadConstraints: {
    path: "spec.topologySpreadConstraints",
    schema: z.array(spread).max(10),
    byDefault: true,
  },
  priorityClassName: {
    path: "spec.priorityClassName",
    schema: text.refine((name) => !name.startsWith("system-"), "classes that begin with system- are the cluster's own"),
    byDefault: true,
  },
  dnsPolicy: {
    path: "spec.dnsPolicy",
    schema: z.enum(["ClusterFirst", "Default", "None"]),
    // These three can lead the app's connections elsewhere.
    byDefault: false,
  },
  dnsConfig: { path: "spec.dnsConfig", schema: dnsConfig, byDefault: false },
  hostAliases: { path: "spec.hostAliases", schema: z.array(hostAlias).max(MAX_ITEMS), byDefault: false },
  terminationGracePeriodSeconds: {
    path: "spec.terminationGracePeriodSeconds",
    schema: z.int().min(1).max(MAX_GRACE_SECONDS),
    byDefault: true,
  },
  cpuRequest: { path: "spec.containers.resources.requests.cpu", schema: quantity, byDefault: true },
  cpuLimit: { path: "spec.containers.resources.limits.cpu", schema: quantity, byDefault: false },
  runtimeClassName: { path: "spec.runtimeClassName", schema: text, byDefault: false },
} as const satisfies Record<string, AdjustableField>;
export type AdjustableName = keyof typeof ADJUSTABLE;

const ALL = Object.keys(ADJUSTABLE) as AdjustableName[];
const DEFAULTS = ALL.filter((name) => ADJUSTABLE[name].byDefault);

/** The fields that may be adjusted on a runner's class, by its parameter; none where the class applies no adjustment. Unknown words count for nothing. */
export function allowedFields({ spec, status }: Pick<BackendClass, "spec" | "status">): readonly AdjustableName[] {
  if (!appliesAdjustments({ status })) return [];
  const given = spec.parameters?.[ALLOWED_PARAMETER];
  if (given === undefined) return DEFAULTS;
  const words = new Set(given.split(/[\s,]+/));
  return ALL.filter((name) => words.has(name));
}

export function appliesAdjustments({ status }: Pick<BackendClass, "status">): boolean {
  return (status?.capabilities?.[ADJUSTMENTS_CAPABILITY] ?? "").split(/[\s,]+/).includes(ADJUSTS_POD_TEMPLATE);
}

// CF's metadata (labels and annotations): its schema, and its mapping to Kubernetes labels and annotations.
import { z } from "zod";
import { isReservedKey } from "../../crds/labels.ts";
import type { KubeObject } from "../../kube/api/object.ts";
import { CFError, unprocessable } from "./errors.ts";

const prefix = /^(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/i;
const maxPrefix = 253;
const maxName = 63;
/** How much of a wrong key or value an error shows. */
const maxShown = 253;
const maxAnnotation = 5000;

/** The problem with a key; undefined when it is valid. */
function keyProblem(key: string): string | undefined {
  const parts = key.split("/");
  if (parts.length > 2) return "key has more than one '/'";
  const last = parts.at(-1) ?? "";
  const problem = parts.length === 2 ? prefixProblem(parts[0] ?? "") : undefined;
  return problem ?? (last === "" ? "key cannot be empty string" : textProblem(last));
}

function prefixProblem(text: string): string | undefined {
  if (!prefix.test(text)) return `prefix '${text.slice(0, maxShown)}' must be in valid dns format`;
  if (text.length > maxPrefix) return `prefix '${text.slice(0, 8)}...' is greater than ${maxPrefix} characters`;
  return text.toLowerCase() === "cloudfoundry.org" ? "prefix 'cloudfoundry.org' is reserved" : undefined;
}

/** Checks the name in a key, and a label's value. */
function textProblem(text: string): string | undefined {
  const shown = text.slice(0, maxShown);
  if (/[^A-Za-z0-9_.-]/.test(text)) return `'${shown}' contains invalid characters`;
  if (!/^[A-Za-z0-9](?:.*[A-Za-z0-9])?$/.test(text)) return `'${shown}' starts or ends with invalid characters`;
  return text.length > maxName ? `'${text.slice(0, 8)}...' is greater than ${maxName} characters` : undefined;
}

/** Whether CF accepts this label key. */
export function isLabelKey(key: string): boolean {
  return keyProblem(key) === undefined;
}

/** Whether CF accepts this label value. */
export function isLabelValue(value: string): boolean {
  return value === "" || textProblem(value) === undefined;
}

/** As in CF, a number or a boolean is taken for its text. */
const textOf = (kind: "label" | "annotation") =>
  z
    .union([z.string(), z.number(), z.boolean()], {
      error: ({ input }) =>
        `${kind} value error: '${JSON.stringify(input).slice(0, maxShown)}' contains invalid characters`,
    })
    .transform(String)
    .nullable();

const labels = z.record(z.string(), textOf("label"), "'labels' is not an object").superRefine((map, context) => {
  for (const [key, value] of Object.entries(map)) {
    const problem = keyProblem(key);
    if (problem) context.addIssue({ code: "custom", message: `label key error: ${problem}`, path: [] });
    const wrong = value ? textProblem(value) : undefined;
    if (wrong) context.addIssue({ code: "custom", message: `label value error: ${wrong}`, path: [] });
  }
});

const annotations = z
  .record(z.string(), textOf("annotation"), "'annotations' is not an object")
  .superRefine((map, context) => {
    for (const [key, value] of Object.entries(map)) {
      const problem = value ? keyProblem(key) : undefined;
      if (problem) context.addIssue({ code: "custom", message: `annotation key error: ${problem}`, path: [] });
      if (value && value.length > maxAnnotation)
        context.addIssue({
          code: "custom",
          message: `annotation value error: '${value.slice(0, 8)}...' is greater than ${maxAnnotation} characters`,
          path: [],
        });
    }
  });

/** The `metadata` member of a create or update body. A null value deletes. */
export const metadataSchema = z.strictObject({
  labels: labels.nullable().optional(),
  annotations: annotations.nullable().optional(),
});

/** A body's parsed `metadata`. */
export type MetadataInput = z.output<typeof metadataSchema>;

/** An object's labels and annotations for CF, without the platform's and Kubernetes' own. */
export function metadataOf(object: KubeObject): {
  labels: Record<string, string>;
  annotations: Record<string, string>;
} {
  return { labels: shown(object.metadata.labels), annotations: shown(object.metadata.annotations) };
}

function shown(map: Record<string, string> | undefined): Record<string, string> {
  return Object.fromEntries(Object.entries(map ?? {}).filter(([key]) => !isReservedKey(key)));
}

const limits = { labels: 50, annotations: 200 } as const;

/**
 * Labels and annotations of a merge patch (null removes). The platform's own keys are rejected.
 * @throws CFError LabelLimitExceeded, AnnotationLimitExceeded, UnprocessableEntity
 */
export function toMetadataPatch(
  input: MetadataInput | undefined,
  current?: KubeObject,
): { labels?: Record<string, string | null>; annotations?: Record<string, string | null> } {
  const has = current ? metadataOf(current) : { labels: {}, annotations: {} };
  return {
    ...(input?.labels && { labels: checkLimits("labels", input.labels, has.labels) }),
    ...(input?.annotations && { annotations: checkLimits("annotations", input.annotations, has.annotations) }),
  };
}

function checkLimits(
  kind: "labels" | "annotations",
  wanted: Record<string, string | null>,
  has: Record<string, string>,
): Record<string, string | null> {
  const reserved = Object.keys(wanted).find(isReservedKey);
  if (reserved)
    throw unprocessable(
      `Metadata ${kind === "labels" ? "label" : "annotation"} key error: prefix '${reserved.split("/")[0]}' is reserved`,
    );
  const after = new Set(Object.keys(has));
  for (const [key, value] of Object.entries(wanted)) {
    if (value === null) after.delete(key);
    else after.add(key);
  }
  const before = Object.keys(has).length;
  if (after.size > limits[kind] && after.size > before)
    throw new CFError(
      kind === "labels" ? "LabelLimitExceeded" : "AnnotationLimitExceeded",
      String(after.size - before),
    );
  return wanted;
}

/** Labels and annotations for a new object, without nulls. */
export function metadataForCreate(input: MetadataInput | undefined): {
  labels: Record<string, string>;
  annotations: Record<string, string>;
} {
  const patch = toMetadataPatch(input);
  return { labels: presentEntries(patch.labels), annotations: presentEntries(patch.annotations) };
}

function presentEntries(map: Record<string, string | null> | undefined): Record<string, string> {
  return Object.fromEntries(Object.entries(map ?? {}).filter((entry): entry is [string, string] => entry[1] !== null));
}

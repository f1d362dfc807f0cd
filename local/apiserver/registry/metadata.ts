// Rules of `metadata` that hold for every kind: what a client may set, and what the server keeps.
import { isDeepStrictEqual } from "node:util";
import type { KubeObject, ObjectMeta } from "../../../kube/object.ts";
import type { FieldError } from "../contract.ts";
import { forbiddenField, invalidValue, required, tooLong } from "../field-errors.ts";
import { labelValue, qualifiedName } from "./names.ts";
import type { ResourceType } from "./types.ts";

const ANNOTATIONS_LIMIT = 256 * 1024;
const STANDARD_FINALIZERS = new Set(["orphan", "foregroundDeletion", "kubernetes", "customresourcecleanup.apiextensions.k8s.io"]);

function validateLabels(meta: ObjectMeta): FieldError[] {
  return Object.entries(meta.labels ?? {}).flatMap(([key, value]) => [
    ...qualifiedName(key).map((fault) => invalidValue("metadata.labels", key, fault)),
    ...labelValue(value).map((fault) => invalidValue("metadata.labels", value, fault)),
  ]);
}

function validateAnnotations(meta: ObjectMeta): FieldError[] {
  let size = 0;
  const errors = Object.entries(meta.annotations ?? {}).flatMap(([key, value]) => {
    size += Buffer.byteLength(key) + Buffer.byteLength(value);
    return qualifiedName(key.toLowerCase()).map((fault) => invalidValue("metadata.annotations", key, fault));
  });
  if (size > ANNOTATIONS_LIMIT) errors.push(tooLong("metadata.annotations", ANNOTATIONS_LIMIT));
  return errors;
}

/** Built-in kinds are stricter: a name without a path must be one of Kubernetes' own. */
function validateFinalizers(meta: ObjectMeta, isStrict: boolean): FieldError[] {
  return (meta.finalizers ?? []).flatMap((finalizer, index) => [
    ...qualifiedName(finalizer).map((fault) => invalidValue("metadata.finalizers", finalizer, fault)),
    ...(isStrict && !finalizer.includes("/") && !STANDARD_FINALIZERS.has(finalizer) ? [invalidValue(`metadata.finalizers[${index}]`, finalizer, "name is neither a standard finalizer name nor is it fully qualified")] : []),
  ]);
}

/** Names that others might take as well; `known` are those that were there before. */
export function finalizerWarnings(object: KubeObject, known: string[] = []): string[] {
  return (object.metadata.finalizers ?? []).filter((name) => !name.includes("/") && !STANDARD_FINALIZERS.has(name) && !known.includes(name))
    .map((name) => `metadata.finalizers: ${JSON.stringify(name)}: prefer a domain-qualified finalizer name including a path (/) to avoid accidental conflicts with other finalizer writers`);
}

function validateOwners(meta: ObjectMeta): FieldError[] {
  const owners = meta.ownerReferences ?? [];
  const errors = owners.flatMap((owner) => {
    const faults: FieldError[] = [];
    if (!owner.apiVersion) faults.push(invalidValue("metadata.ownerReferences.apiVersion", "", "version must not be empty"));
    if (!owner.kind) faults.push(invalidValue("metadata.ownerReferences.kind", "", "must not be empty"));
    if (!owner.name) faults.push(invalidValue("metadata.ownerReferences.name", "", "must not be empty"));
    if (!owner.uid) faults.push(invalidValue("metadata.ownerReferences.uid", "", "must not be empty"));
    return faults;
  });
  const controllers = owners.filter((owner) => owner.controller);
  if (controllers.length > 1) {
    const [first, second] = controllers;
    errors.push(invalidValue("metadata.ownerReferences", owners, `Only one reference can have Controller set to true. Found "true" in references for ${first?.kind}/${first?.name} and ${second?.kind}/${second?.name}`));
  }
  return errors;
}

/** Of a new object, its name already generated. */
export function validateMetadata(object: KubeObject, type: ResourceType): FieldError[] {
  const meta = object.metadata;
  const errors: FieldError[] = [];
  if (meta.generateName) errors.push(...type.strategy.validateName(meta.generateName, true).map((fault) => invalidValue("metadata.generateName", meta.generateName, fault)));
  if (!meta.name) errors.push(required("metadata.name", "name or generateName is required"));
  else errors.push(...type.strategy.validateName(meta.name, false).map((fault) => invalidValue("metadata.name", meta.name, fault)));
  return [...errors, ...validateLabels(meta), ...validateAnnotations(meta), ...validateOwners(meta), ...validateFinalizers(meta, type.builtin)];
}

const IMMUTABLE = ["name", "namespace", "uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds"] as const;

/** Of a changed object; call after keepSystemFields. */
export function validateMetadataUpdate(object: KubeObject, old: KubeObject, type: ResourceType): FieldError[] {
  const meta = object.metadata;
  const errors = IMMUTABLE.filter((field) => !isDeepStrictEqual(meta[field], old.metadata[field]))
    .map((field) => invalidValue(`metadata.${field}`, meta[field], "field is immutable"));
  if (old.metadata.deletionTimestamp) {
    const known = new Set(old.metadata.finalizers);
    const added = (meta.finalizers ?? []).filter((finalizer) => !known.has(finalizer));
    if (added.length > 0) {
      errors.push(forbiddenField("metadata.finalizers", `no new finalizers can be added if the object is being deleted, found new finalizers []string{${added.map((name) => JSON.stringify(name)).join(", ")}}`));
    }
  }
  return [...errors, ...validateLabels(meta), ...validateAnnotations(meta), ...validateOwners(meta), ...validateFinalizers(meta, type.builtin)];
}

/** What a client leaves out (or may not set) of `metadata` on an update comes from the old object. */
export function keepSystemFields(object: KubeObject, old: KubeObject): void {
  const { metadata } = object;
  metadata.uid ??= old.metadata.uid;
  metadata.creationTimestamp ??= old.metadata.creationTimestamp;
  if (old.metadata.deletionTimestamp !== undefined) metadata.deletionTimestamp ??= old.metadata.deletionTimestamp;
  if (old.metadata.deletionGracePeriodSeconds !== undefined) metadata.deletionGracePeriodSeconds ??= old.metadata.deletionGracePeriodSeconds;
  if (old.metadata.generateName !== undefined) metadata.generateName ??= old.metadata.generateName;
  setOrDrop(metadata, "generation", old.metadata.generation);
}

function setOrDrop<K extends keyof ObjectMeta>(meta: ObjectMeta, key: K, value: ObjectMeta[K] | undefined): void {
  if (value === undefined) delete meta[key];
  else meta[key] = value;
}

const SUFFIX = "bcdfghjklmnpqrstvwxz2456789";

/** The name for a `generateName`: cut to 58 characters, five random ones behind. */
export function generateName(prefix: string, random: () => number): string {
  let name = prefix.slice(0, 58);
  for (let i = 0; i < 5; i++) name += SUFFIX[Math.floor(random() * SUFFIX.length)];
  return name;
}

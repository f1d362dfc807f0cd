// Rules of `metadata` that hold for every kind: what a client may set, and what the server keeps.
import { isDeepStrictEqual } from "node:util";
import type { KubeObject, ObjectMeta } from "../../../kube/api/object.ts";
import type { FieldError } from "../types.ts";
import { forbiddenField, invalidValue, required, tooLong } from "../field-errors.ts";
import { labelName, labelValue, pathSegmentName, qualifiedName } from "./names.ts";
import type { ResourceType } from "./types.ts";

const ANNOTATIONS_LIMIT = 256 * 1024;
const STANDARD_FINALIZERS = new Set([
  "orphan",
  "foregroundDeletion",
  "kubernetes",
  "customresourcecleanup.apiextensions.k8s.io",
]);

function validateLabels(meta: ObjectMeta, at: string): FieldError[] {
  return Object.entries(meta.labels ?? {})
    .filter(([, value]) => typeof value === "string")
    .flatMap(([key, value]) => [
      ...qualifiedName(key).map((fault) => invalidValue(`${at}.labels`, key, fault)),
      ...labelValue(value).map((fault) => invalidValue(`${at}.labels`, value, fault)),
    ]);
}

function validateAnnotations(meta: ObjectMeta, at: string): FieldError[] {
  let size = 0;
  const errors = Object.entries(meta.annotations ?? {}).flatMap(([key, value]) => {
    size += Buffer.byteLength(key) + Buffer.byteLength(value ?? "");
    return qualifiedName(key.toLowerCase()).map((fault) => invalidValue(`${at}.annotations`, key, fault));
  });
  if (size > ANNOTATIONS_LIMIT) errors.push(tooLong(`${at}.annotations`, ANNOTATIONS_LIMIT));
  return errors;
}

function validateFinalizers({ finalizers = [] }: ObjectMeta, at: string): FieldError[] {
  const faults = finalizers.flatMap((finalizer) =>
    qualifiedName(finalizer).map((fault) => invalidValue(`${at}.finalizers`, finalizer, fault)),
  );
  if (finalizers.includes("orphan") && finalizers.includes("foregroundDeletion"))
    faults.push(
      invalidValue(`${at}.finalizers`, finalizers, "finalizer orphan and foregroundDeletion cannot be both set"),
    );
  return faults;
}

/** Younger groups of built-in kinds, which are as free in their finalizers as custom resources. */
const FREE_FINALIZERS = new Set(["admissionregistration.k8s.io", "apiextensions.k8s.io", "coordination.k8s.io"]);

/** Built-in kinds are stricter: a name without a path must be one of Kubernetes' own. */
function strictFinalizers({ finalizers = [] }: ObjectMeta, { builtin, group }: ResourceType): FieldError[] {
  if (!builtin || FREE_FINALIZERS.has(group)) return [];
  return finalizers.flatMap((finalizer, index) =>
    finalizer.includes("/") || STANDARD_FINALIZERS.has(finalizer)
      ? []
      : [
          invalidValue(
            `metadata.finalizers[${index}]`,
            finalizer,
            "name is neither a standard finalizer name nor is it fully qualified",
          ),
        ],
  );
}

/** Warns of finalizers of custom resources whose names others might take as well. `known` are those that were there before. */
export function finalizerWarnings(object: KubeObject, known: string[] = []): string[] {
  const added = [...new Set(object.metadata.finalizers).difference(new Set(known))].sort();
  return added.flatMap((name) => {
    const faults = qualifiedName(name);
    if (!name.includes("/") && !STANDARD_FINALIZERS.has(name))
      faults.push(
        `prefer a domain-qualified finalizer name ${name.includes(".") ? "including a path (/) " : ""}to avoid accidental conflicts with other finalizer writers`,
      );
    return faults.map((fault) => `metadata.finalizers: ${JSON.stringify(name)}: ${fault}`);
  });
}

function validateOwners(meta: ObjectMeta, at: string): FieldError[] {
  const owners = meta.ownerReferences ?? [];
  const errors = owners.flatMap((owner) => {
    const faults: FieldError[] = [];
    if (!owner.apiVersion)
      faults.push(invalidValue(`${at}.ownerReferences.apiVersion`, "", "version must not be empty"));
    if (!owner.kind) faults.push(invalidValue(`${at}.ownerReferences.kind`, "", "must not be empty"));
    if (!owner.name) faults.push(invalidValue(`${at}.ownerReferences.name`, "", "must not be empty"));
    if (!owner.uid) faults.push(invalidValue(`${at}.ownerReferences.uid`, "", "must not be empty"));
    return faults;
  });
  const controllers = owners.filter((owner) => owner.controller);
  if (controllers.length > 1) {
    const [first, second] = controllers;
    errors.push(
      invalidValue(
        `${at}.ownerReferences`,
        owners,
        `Only one reference can have Controller set to true. Found "true" in references for ${first?.kind}/${first?.name} and ${second?.kind}/${second?.name}`,
      ),
    );
  }
  return errors;
}

/** Validates a new object, its name already generated. */
export function validateMetadata(object: KubeObject, type: ResourceType): FieldError[] {
  const meta = object.metadata;
  const errors: FieldError[] = [];
  if (meta.generateName)
    errors.push(
      ...type.strategy
        .validateName(meta.generateName, true)
        .map((fault) => invalidValue("metadata.generateName", meta.generateName, fault)),
    );
  if (!meta.name) errors.push(required("metadata.name", "name or generateName is required"));
  else
    errors.push(
      ...type.strategy.validateName(meta.name, false).map((fault) => invalidValue("metadata.name", meta.name, fault)),
    );
  return [
    ...errors,
    ...validateCommon(meta, "metadata"),
    ...validateFinalizers(meta, "metadata"),
    ...strictFinalizers(meta, type),
  ];
}

const validateCommon = (meta: ObjectMeta, at: string): FieldError[] => [
  ...validateLabels(meta, at),
  ...validateAnnotations(meta, at),
  ...validateOwners(meta, at),
];

/** Validates an object inside another one, where the name may be missing. */
export function validateEmbeddedMetadata(meta: ObjectMeta, at: string): FieldError[] {
  const names = (["generateName", "name"] as const).flatMap((field) =>
    meta[field]
      ? pathSegmentName(meta[field], field === "generateName").map((fault) =>
          invalidValue(`${at}.${field}`, meta[field], fault),
        )
      : [],
  );
  const namespace = meta.namespace
    ? labelName(meta.namespace, false).map((fault) => invalidValue(`${at}.namespace`, meta.namespace, fault))
    : [];
  return [
    ...names,
    ...namespace,
    ...((meta.generation ?? 0) < 0
      ? [invalidValue(`${at}.generation`, meta.generation, "must be greater than or equal to 0")]
      : []),
    ...validateCommon(meta, at),
    ...validateFinalizers(meta, at),
  ];
}

const IMMUTABLE = [
  "name",
  "namespace",
  "uid",
  "creationTimestamp",
  "deletionTimestamp",
  "deletionGracePeriodSeconds",
] as const;

/** Validates a changed object; call after keepSystemFields. */
export function validateMetadataUpdate(object: KubeObject, old: KubeObject, type: ResourceType): FieldError[] {
  const meta = object.metadata;
  const errors = IMMUTABLE.filter((field) => !isDeepStrictEqual(meta[field], old.metadata[field])).map((field) =>
    invalidValue(`metadata.${field}`, meta[field], "field is immutable"),
  );
  if (old.metadata.deletionTimestamp) {
    const known = new Set(old.metadata.finalizers);
    const added = (meta.finalizers ?? []).filter((finalizer) => !known.has(finalizer));
    if (added.length > 0) {
      errors.push(
        forbiddenField(
          "metadata.finalizers",
          `no new finalizers can be added if the object is being deleted, found new finalizers []string{${added.map((name) => JSON.stringify(name)).join(", ")}}`,
        ),
      );
    }
  }
  return [
    ...errors,
    ...validateCommon(meta, "metadata"),
    ...validateFinalizers(meta, "metadata"),
    ...strictFinalizers(meta, type),
  ];
}

/** Fields of `metadata` that a client leaves out (or may not set) on an update come from the old object. */
export function keepSystemFields(object: KubeObject, old: KubeObject): void {
  const { metadata } = object;
  metadata.uid ??= old.metadata.uid;
  metadata.creationTimestamp = old.metadata.creationTimestamp;
  if (old.metadata.deletionTimestamp !== undefined) metadata.deletionTimestamp = old.metadata.deletionTimestamp;
  if (old.metadata.deletionGracePeriodSeconds !== undefined)
    metadata.deletionGracePeriodSeconds ??= old.metadata.deletionGracePeriodSeconds;
  delete (metadata as { selfLink?: string }).selfLink;
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

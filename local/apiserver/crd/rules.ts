// Validation and defaults of a CustomResourceDefinition.
import type { KubeObject } from "../../../kube/api/object.ts";
import type { ExtraRules } from "../builtin/kinds.ts";
import type { FieldError } from "../types.ts";
import { invalidValue, notSupported, required } from "../field-errors.ts";
import { labelName, subdomainName } from "../registry/names.ts";
import { checkSchema } from "../schema/check.ts";
import type { Crd, CrdCondition, CrdVersion } from "./types.ts";

const established = (time: string): CrdCondition[] => [
  {
    lastTransitionTime: time,
    message: "no conflicts found",
    reason: "NoConflicts",
    status: "True",
    type: "NamesAccepted",
  },
  {
    lastTransitionTime: time,
    message: "the initial names have been accepted",
    reason: "InitialNamesAccepted",
    status: "True",
    type: "Established",
  },
];

/** Names are free at once and the resource is served with the write's commit, so the status says so from the start. */
function establish(crd: Crd, time: string): void {
  const stored = crd.spec.versions.filter((version) => version.storage).map(({ name }) => name);
  const known = crd.status?.storedVersions ?? [];
  crd.status = {
    conditions: crd.status?.conditions?.length ? crd.status.conditions : established(time),
    acceptedNames: crd.spec.names,
    storedVersions: [...known, ...stored.filter((name) => !known.includes(name))],
  };
}

function versionErrors(versions: CrdVersion[]): FieldError[] {
  const errors: FieldError[] = [];
  if (versions.filter((version) => version.storage).length !== 1)
    errors.push(
      invalidValue(
        "spec.versions",
        versions.map(({ name }) => name),
        "must have exactly one version marked as storage version",
      ),
    );
  versions.forEach((version, index) => {
    const at = `spec.versions[${index}]`;
    if (version.name)
      errors.push(...labelName(version.name, false).map((fault) => invalidValue(`${at}.name`, version.name, fault)));
    else errors.push(required(`${at}.name`));
    errors.push(...pathErrors(version, at));
    const schema = version.schema?.openAPIV3Schema;
    if (!schema) errors.push(required(`${at}.schema.openAPIV3Schema`, "schemas are required"));
    else
      errors.push(
        ...checkSchema(
          schema,
          versions.length === 1 ? "spec.validation.openAPIV3Schema" : `${at}.schema.openAPIV3Schema`,
        ),
      );
  });
  return errors;
}

/** Columns, scale and selectable fields name places by JSONPath. */
function pathErrors(
  { additionalPrinterColumns = [], selectableFields = [], subresources }: CrdVersion,
  at: string,
): FieldError[] {
  const scale = subresources?.scale;
  const places: [field: string, path: string | undefined][] = [
    ...additionalPrinterColumns.map(({ jsonPath }, i): [string, string] => [
      `${at}.additionalPrinterColumns[${i}].jsonPath`,
      jsonPath,
    ]),
    ...selectableFields.map(({ jsonPath }, i): [string, string] => [`${at}.selectableFields[${i}].jsonPath`, jsonPath]),
    ...(scale
      ? (["specReplicasPath", "statusReplicasPath"] as const).map((name): [string, string] => [
          `${at}.subresources.scale.${name}`,
          scale[name],
        ])
      : []),
  ];
  return places.filter(([, path]) => !path).map(([field]) => required(field));
}

const PROTECTED = /(^|\.)(k8s|kubernetes)\.io$/;
const IMMUTABLE: [field: string, get: (spec: Crd["spec"]) => unknown][] = [
  ["spec.scope", (spec) => spec.scope],
  ["spec.group", (spec) => spec.group],
  ["spec.names.plural", (spec) => spec.names.plural],
  ["spec.names.kind", (spec) => spec.names.kind],
];

function validateCrd(object: KubeObject, old: KubeObject | undefined): FieldError[] {
  const crd = object as Crd;
  const missing = missingFields(crd);
  if (missing.length > 0) return missing;
  const { spec } = crd;
  const errors = nameErrors(crd);
  if (!["Namespaced", "Cluster"].includes(spec.scope))
    errors.push(notSupported("spec.scope", spec.scope, ["Cluster", "Namespaced"]));
  if (spec.conversion?.strategy !== "None")
    errors.push(notSupported("spec.conversion.strategy", spec.conversion?.strategy, ["None"]));
  const before = (old as Crd | undefined)?.spec;
  if (before)
    errors.push(
      ...IMMUTABLE.filter(([, get]) => get(before) !== get(spec)).map(([field, get]) =>
        invalidValue(field, get(spec), "field is immutable"),
      ),
    );
  return [...errors, ...versionErrors(spec.versions)];
}

function missingFields({ metadata, spec }: Crd): FieldError[] {
  const names = { ...spec?.names };
  const unnamed = (["plural", "singular", "kind", "listKind"] as const)
    .filter((field) => !names[field])
    .map((field) => `spec.names.${field}`);
  const errors = [
    ...(["group", "scope"] as const).filter((field) => !spec?.[field]).map((field) => `spec.${field}`),
    ...unnamed,
  ].map((field) => required(field));
  if (!Array.isArray(spec?.versions) || spec.versions.length === 0)
    errors.push(invalidValue("spec.versions", null, "must have exactly one version marked as storage version"));
  if (errors.length > 0 && metadata.name !== `${names.plural}.${spec?.group}`)
    errors.unshift(invalidValue("metadata.name", metadata.name, 'must be spec.names.plural+"."+spec.group'));
  return errors;
}

function nameErrors({ metadata, spec }: Crd): FieldError[] {
  const errors = subdomainName(spec.group, false).map((fault) => invalidValue("spec.group", spec.group, fault));
  if (metadata.name !== `${spec.names.plural}.${spec.group}`)
    errors.unshift(invalidValue("metadata.name", metadata.name, 'must be spec.names.plural+"."+spec.group'));
  if (PROTECTED.test(spec.group) && !metadata.annotations?.["api-approved.kubernetes.io"]) {
    errors.push(
      required(
        "metadata.annotations[api-approved.kubernetes.io]",
        'protected groups must have approval annotation "api-approved.kubernetes.io", see https://github.com/kubernetes/enhancements/pull/1111',
      ),
    );
  }
  return errors;
}

/** The rules of the kind CustomResourceDefinition; `now` in milliseconds. */
export function crdRules(now: () => number): ExtraRules {
  const time = () => `${new Date(now()).toISOString().slice(0, 19)}Z`;
  return {
    prepareCreate(object) {
      if (Array.isArray((object as Crd).spec?.versions)) establish(object as Crd, time());
    },
    prepareUpdate(object, _old, subresource) {
      if (subresource === "" && Array.isArray((object as Crd).spec?.versions)) establish(object as Crd, time());
    },
    validate: validateCrd,
  };
}

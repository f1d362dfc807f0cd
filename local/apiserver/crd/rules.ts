// What is checked and filled in when a CustomResourceDefinition itself is written.
import { type KubeObject } from "../../../kube/object.ts";
import { type ExtraRules } from "../builtin/kinds.ts";
import { type FieldError } from "../contract.ts";
import { invalidValue, notSupported, required } from "../field-errors.ts";
import { labelName, subdomainName } from "../registry/names.ts";
import { checkSchema } from "../schema/check.ts";
import { CLEANUP, type Crd, type CrdCondition, type CrdVersion } from "./types.ts";

const established = (time: string): CrdCondition[] => [
  { lastTransitionTime: time, message: "no conflicts found", reason: "NoConflicts", status: "True", type: "NamesAccepted" },
  { lastTransitionTime: time, message: "the initial names have been accepted", reason: "InitialNamesAccepted", status: "True", type: "Established" },
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
  if (versions.filter((version) => version.storage).length !== 1) errors.push(invalidValue("spec.versions", versions.map(({ name }) => name), "must have exactly one version marked as storage version"));
  versions.forEach((version, index) => {
    const at = `spec.versions[${index}]`;
    errors.push(...labelName(version.name, false).map((fault) => invalidValue(`${at}.name`, version.name, fault)));
    const schema = version.schema?.openAPIV3Schema;
    if (!schema) errors.push(required(`${at}.schema.openAPIV3Schema`, "schemas are required"));
    else errors.push(...checkSchema(schema, `${at}.schema.openAPIV3Schema`));
  });
  return errors;
}

function validateCrd(object: KubeObject, old: KubeObject | undefined): FieldError[] {
  const crd = object as Crd;
  const { spec } = crd;
  const errors: FieldError[] = [];
  if (!spec?.group) errors.push(required("spec.group"));
  if (!spec?.names?.plural) errors.push(required("spec.names.plural"));
  if (!spec?.names?.kind) errors.push(required("spec.names.kind"));
  if (!spec?.scope) errors.push(required("spec.scope"));
  if (!Array.isArray(spec?.versions) || spec.versions.length === 0) errors.push(required("spec.versions", "must have at least one version"));
  if (errors.length > 0) return errors;
  errors.push(...subdomainName(spec.group, false).map((fault) => invalidValue("spec.group", spec.group, fault)));
  if (spec.group.endsWith(".k8s.io") || spec.group === "k8s.io" || spec.group.endsWith(".kubernetes.io")) {
    const approval = crd.metadata.annotations?.["api-approved.kubernetes.io"];
    if (!approval) errors.push(required('metadata.annotations[api-approved.kubernetes.io]', "protected groups must have approval annotation \"api-approved.kubernetes.io\", see https://github.com/kubernetes/enhancements/pull/1111"));
  }
  if (crd.metadata.name !== `${spec.names.plural}.${spec.group}`) errors.push(invalidValue("metadata.name", crd.metadata.name, "must be spec.names.plural+\".\"+spec.group"));
  if (!["Namespaced", "Cluster"].includes(spec.scope)) errors.push(notSupported("spec.scope", spec.scope, ["Cluster", "Namespaced"]));
  if (spec.conversion?.strategy !== "None") errors.push(notSupported("spec.conversion.strategy", spec.conversion?.strategy, ["None"]));
  const before = (old as Crd | undefined)?.spec;
  if (before && before.scope !== spec.scope) errors.push(invalidValue("spec.scope", spec.scope, "field is immutable"));
  if (before && before.group !== spec.group) errors.push(invalidValue("spec.group", spec.group, "field is immutable"));
  if (before && before.names.plural !== spec.names.plural) errors.push(invalidValue("spec.names.plural", spec.names.plural, "field is immutable"));
  if (before && before.names.kind !== spec.names.kind) errors.push(invalidValue("spec.names.kind", spec.names.kind, "field is immutable"));
  return [...errors, ...versionErrors(spec.versions)];
}

/** The rules of the kind CustomResourceDefinition; `now` in milliseconds. */
export function crdRules(now: () => number): ExtraRules {
  const time = () => `${new Date(now()).toISOString().slice(0, 19)}Z`;
  return {
    prepareCreate(object) {
      object.metadata.finalizers = [...new Set([...(object.metadata.finalizers ?? []), CLEANUP])];
      if (Array.isArray((object as Crd).spec?.versions)) establish(object as Crd, time());
    },
    prepareUpdate(object, _old, subresource) {
      if (subresource === "" && Array.isArray((object as Crd).spec?.versions)) establish(object as Crd, time());
    },
    validate: validateCrd,
  };
}

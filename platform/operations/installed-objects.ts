// Names admission policies, their bindings and kinds that the cluster lacks, or has otherwise than this version needs them: their rules would end in silence.
import { isDeepStrictEqual } from "node:util";
import { listManifests } from "../../crds/manifests.ts";
import {
  CustomResourceDefinition,
  ValidatingAdmissionPolicy,
  ValidatingAdmissionPolicyBinding,
} from "../../kube/api/builtin.ts";
import type { KubeObject } from "../../kube/api/object.ts";
import type { ResourceRef } from "../../kube/api/resource-ref.ts";
import type { Informers } from "../../kube/cache/informers.ts";
import type { Store } from "../../kube/cache/reader.ts";
import type { CheckResult } from "../../kube/server/readiness.ts";

/** Kinds of the chart's objects that are compared. The platform may only read them. */
export const INSTALLED_KINDS: readonly ResourceRef[] = [
  ValidatingAdmissionPolicy,
  ValidatingAdmissionPolicyBinding,
  CustomResourceDefinition,
];
const MAX_NAMED = 10;

/** Fields that the API server fills in, with their values. Any other addition changes whom a policy judges. */
const POLICY_DEFAULTS: Readonly<Record<string, unknown>> = {
  failurePolicy: "Fail",
  matchPolicy: "Equivalent",
  namespaceSelector: {},
  objectSelector: {},
  scope: "*",
};

/** Watches the installed objects. The check reads caches only, and compares again after a change. */
export function watchInstalledObjects(informers: Informers): { check: () => CheckResult; release: () => void } {
  const expected = listManifests().flatMap(({ objects }) => objects);
  const watched = INSTALLED_KINDS.map((ref) => ({
    handle: informers.ensure(ref, { transform: dropForeignSpec }),
    expected: expected.filter(({ kind }) => kind === ref.kind),
    outdated: true,
    gaps: [] as string[],
  }));
  for (const each of watched) each.handle.store.onChange(() => (each.outdated = true));
  const gapsOf = (each: (typeof watched)[number]): string[] => {
    const { store } = each.handle;
    if (!store.synced) return listUnreadable(store);
    if (each.outdated) each.gaps = planInstallGaps(each.expected, (name) => store.find({ name }));
    each.outdated = false;
    return each.gaps;
  };
  return {
    check: () => presentInstallGaps(watched.flatMap(gapsOf)),
    release: () => watched.forEach(({ handle }) => handle.release()),
  };
}

/** A watch that still lists says nothing yet. */
function listUnreadable({ ref, parkReason }: Store): string[] {
  return parkReason ? [`${ref.plural}.${ref.group} cannot be read (${parkReason})`] : [];
}

/** Definitions of others may be large; nothing of their specs is compared. */
function dropForeignSpec(object: KubeObject): KubeObject {
  const isOurs = object.metadata.name.endsWith("cupola.dev");
  return isOurs ? object : { apiVersion: object.apiVersion, kind: object.kind, metadata: object.metadata };
}

/** A sentence for each object that is missing, being deleted or changed. Pure. */
export function planInstallGaps(
  expected: readonly KubeObject[],
  find: (name: string) => KubeObject | undefined,
): string[] {
  return expected.flatMap((object) => {
    const { name } = object.metadata;
    const found = find(name);
    if (!found) return [`${object.kind} ${name} is missing`];
    if (found.metadata.deletionTimestamp) return [`${object.kind} ${name} is being deleted`];
    return isInForce(object, found) ? [] : [`${object.kind} ${name} was changed or is of another version`];
  });
}

/** A kind with more fields than this version knows serves it as well, as during an upgrade. */
function isInForce(expected: KubeObject, found: KubeObject): boolean {
  const isHarmless =
    expected.kind === CustomResourceDefinition.kind
      ? () => true
      : (key: string, value: unknown) => key in POLICY_DEFAULTS && isDeepStrictEqual(value, POLICY_DEFAULTS[key]);
  return contains((expected as { spec?: unknown }).spec, (found as { spec?: unknown }).spec, isHarmless);
}

/** Whether `found` is `expected`, but for harmless additions and for empty values, which the API server leaves out. */
function contains(expected: unknown, found: unknown, isHarmless: (key: string, value: unknown) => boolean): boolean {
  if (found === undefined) return isEmpty(expected);
  if (Array.isArray(expected))
    return (
      Array.isArray(found) &&
      found.length === expected.length &&
      expected.every((value, at) => contains(value, found[at], isHarmless))
    );
  if (!isMap(expected) || !isMap(found)) return expected === found;
  return (
    Object.entries(expected).every(([key, value]) => contains(value, found[key], isHarmless)) &&
    Object.entries(found).every(([key, value]) => expected[key] !== undefined || isHarmless(key, value))
  );
}

const isMap = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

function isEmpty(value: unknown): boolean {
  return value === undefined || value === false || value === "" || isDeepStrictEqual(value, []);
}

function presentInstallGaps(gaps: readonly string[]): CheckResult {
  if (gaps.length === 0) return true;
  const more = gaps.length > MAX_NAMED ? [`and ${gaps.length - MAX_NAMED} more`] : [];
  return {
    degraded: `${[...gaps.slice(0, MAX_NAMED), ...more].join(", ")}: run helm upgrade (on a laptop, start again), which applies the kinds and admission policies of this version`,
  };
}

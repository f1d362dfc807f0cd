// Leaves out what would open an imported object to a space or an org that the export lacks: there the name may be another tenant's, today or later.
// Roles and network policies become those of the namespaces and apps there. Pure.
import type { AppPolicy } from "../../crds/app-policy/app-policy.ts";
import { appPolicyName, endsWithApps } from "../../crds/app-policy/rules.ts";
import type { ExportedObject } from "./archive.ts";
import type { NamespaceMap } from "./plan-draft.ts";

/** The object, and how many of its entries are left out. */
export interface KnownPart {
  object: ExportedObject;
  leftOut: number;
}

/** Orgs and spaces of the export that are on the other cluster. */
export interface KnownPlaces {
  namespaces: NamespaceMap;
  /** Object names. */
  orgs: ReadonlySet<string>;
}

/** Undefined when the whole object is left out. Its spec names namespaces as the export does, its subjects as they are there. */
export function keepKnownPlaces(object: ExportedObject, { namespaces, orgs }: KnownPlaces): KnownPart | undefined {
  const { spec = {} } = object;
  if (object.kind === "AppPolicy")
    return keepIf(toPolicyThere(object, namespaces), isKnown(spec["source"], namespaces));
  if (object.kind === "ServiceBinding") return keepIf(object, isKnown(spec["instanceRef"], namespaces));
  if (object.kind === "RoleBinding") return keepSubjects(object, namespaces);
  if (object.kind === "Route" || object.kind === "ServiceInstance") return keepEntries(object, spec, namespaces);
  if (object.kind === "Domain") return keepSharedOrgs(object, orgs);
  if (object.kind === "ServicePlan") return keepVisibility(object, orgs);
  return { object, leftOut: 0 };
}

function keepSharedOrgs(object: ExportedObject, orgs: ReadonlySet<string>): KnownPart {
  const list = keep(object.spec?.["sharedOrgs"], (one) => orgs.has(String(one)));
  if (!list) return { object, leftOut: 0 };
  return { object: { ...object, spec: { ...object.spec, sharedOrgs: list.kept } }, leftOut: list.leftOut };
}

function keepVisibility(object: ExportedObject, orgs: ReadonlySet<string>): KnownPart {
  const visibility = (object.spec?.["visibility"] ?? {}) as Record<string, unknown>;
  const list = keep(visibility["orgs"], (one) => orgs.has(String(one)));
  if (!list) return { object, leftOut: 0 };
  const spec = { ...object.spec, visibility: { ...visibility, orgs: list.kept } };
  return { object: { ...object, spec }, leftOut: list.leftOut };
}

function keepIf(object: ExportedObject, isKept: boolean): KnownPart | undefined {
  return isKept ? { object, leftOut: 0 } : undefined;
}

/** A reference without a namespace is to the object's own. */
function isKnown(reference: unknown, namespaces: NamespaceMap): boolean {
  const { namespace } = (reference ?? {}) as { namespace?: unknown };
  return namespace === undefined || namespace === "" || namespaces.has(String(namespace));
}

function keepEntries(
  object: ExportedObject,
  spec: Readonly<Record<string, unknown>>,
  namespaces: NamespaceMap,
): KnownPart {
  const spaces = keep(spec["sharedSpaces"], (one) => namespaces.has(String(one)));
  const destinations = keep(spec["destinations"], (one) => isKnown(one, namespaces));
  return {
    object: {
      ...object,
      spec: {
        ...spec,
        ...(spaces && { sharedSpaces: spaces.kept }),
        ...(destinations && { destinations: destinations.kept }),
      },
    },
    leftOut: (spaces?.leftOut ?? 0) + (destinations?.leftOut ?? 0),
  };
}

function keep(list: unknown, isKept: (one: unknown) => boolean): { kept: unknown[]; leftOut: number } | undefined {
  if (!Array.isArray(list)) return undefined;
  const kept = list.filter(isKept);
  return { kept, leftOut: list.length - kept.length };
}

/** Service accounts of other namespaces get no role: whoever has a namespace of that name there makes accounts in it. */
function keepSubjects(object: ExportedObject, namespaces: NamespaceMap): KnownPart | undefined {
  const { subjects } = object;
  if (!subjects) return { object, leftOut: 0 };
  const kept = subjects.flatMap((one) => mapSubject(one, namespaces) ?? []);
  if (kept.length === 0) return undefined;
  return { object: { ...object, subjects: kept }, leftOut: subjects.length - kept.length };
}

type Subject = NonNullable<ExportedObject["subjects"]>[number];

/** The user of one service account, and the group of all of a namespace. */
const ACCOUNTS = /^(system:serviceaccounts?:)([^:]+)(.*)$/;

function mapSubject(subject: Subject, namespaces: NamespaceMap): Subject | undefined {
  if (subject.kind === "ServiceAccount") {
    const namespace = namespaces.get(subject.namespace ?? "");
    return namespace === undefined ? undefined : { ...subject, namespace };
  }
  const [, start, named = "", rest] = ACCOUNTS.exec(subject.name) ?? [];
  if (start === undefined) return subject;
  const namespace = namespaces.get(named);
  return namespace === undefined ? undefined : { ...subject, name: `${start}${namespace}${rest}` };
}

/** Its controller fills in the uids of the apps there: by those of the originals it would delete the policy. A policy of the CF API is known by the name of what it says. */
function toPolicyThere(object: ExportedObject, namespaces: NamespaceMap): ExportedObject {
  const { status } = object;
  const { sourceUID: _source, destinationUID: _destination, ...kept } = status ?? {};
  return {
    ...object,
    metadata: { ...object.metadata, name: policyNameThere(object, namespaces) },
    ...(status && { status: kept }),
  };
}

/** A file may say anything: the API server refuses an incomplete policy. */
function policyNameThere(object: ExportedObject, namespaces: NamespaceMap): string {
  const { name } = object.metadata;
  const { source, destination, protocol = "tcp", ports } = (object as { spec?: Partial<AppPolicy["spec"]> }).spec ?? {};
  if (!source || !destination || !ports) return name;
  const spec = { source, destination, protocol, ports };
  if (!endsWithApps({ ...object, spec } as AppPolicy)) return name;
  return appPolicyName({ ...spec, source: { ...source, namespace: namespaces.get(source.namespace) ?? "" } });
}

// All objects of our kinds as rows, each page reduced as it comes: ten thousand apps fit.
import type { Claim } from "../../crds/claim/claim.ts";
import { DEFINITIONS } from "../../crds/definitions.ts";
import { EVENT_LOGS } from "../../crds/event-logs.ts";
import { LABELS } from "../../crds/labels.ts";
import type { LRP } from "../../crds/lrp/lrp.ts";
import type { Space } from "../../crds/space/space.ts";
import { omitUndefined } from "../../kube/api/omit-undefined.ts";
import type { Condition, KubeObject } from "../../kube/api/object.ts";
import { resourceId, type ResourceRef } from "../../kube/api/resource-ref.ts";
import type { ObjectRow } from "./facts.ts";
import type { FactReader } from "./fact-reader.ts";

/** Generated objects are read before their owners, so that a new one never seems to have none. */
const READ_FIRST: readonly string[] = ["Claim", "LRP"];

export async function readObjects(reader: FactReader): Promise<ObjectRow[]> {
  const order = DEFINITIONS.filter(({ kind }) => !EVENT_LOGS.has(kind)).toSorted(
    (a, b) => READ_FIRST.indexOf(b.kind) - READ_FIRST.indexOf(a.kind),
  );
  const rows: ObjectRow[] = [];
  for (const definition of order)
    rows.push(...(await reader.listRows(definition, (object) => toRow(definition, object))));
  return rows;
}

/** Pure. */
export function toRow(ref: ResourceRef, object: KubeObject): ObjectRow {
  const { namespace, name, uid = "", creationTimestamp = "", deletionTimestamp, finalizers = [] } = object.metadata;
  const deletedAt = deletionTimestamp === undefined ? undefined : Date.parse(deletionTimestamp);
  return {
    kind: ref.kind,
    resource: resourceId(ref),
    name,
    uid,
    createdAt: Date.parse(creationTimestamp),
    finalizers,
    ...omitUndefined({ namespace, deletedAt, ready: readyOf(object), ownerUid: ownerOf(object) }),
    ...FACTS_BY_KIND[ref.kind]?.(object),
  };
}

/** On another cluster of the platform, owners are at the hub. */
function ownerOf({ metadata: { labels = {} } }: KubeObject): string | undefined {
  return labels[LABELS.hub] === undefined ? labels[LABELS.ownerUid] : undefined;
}

function readyOf({ status }: KubeObject): ObjectRow["ready"] {
  const { conditions = [] } = (status ?? {}) as { conditions?: Condition[] };
  const ready = conditions.find(({ type }) => type === "Ready");
  if (!ready) return undefined;
  const { status: is, reason, message, lastTransitionTime } = ready;
  return { status: is, reason, message, since: Date.parse(lastTransitionTime) };
}

const FACTS_BY_KIND: Readonly<Record<string, (object: KubeObject) => Partial<ObjectRow>>> = {
  Claim: (object) => {
    const { claimant, since } = (object as Claim).spec;
    return { claim: { claimant, since: Date.parse(since) } };
  },
  LRP: (object) => {
    const { class: className, rendering } = (object as LRP).spec;
    return { lrp: { class: className, rendering } };
  },
  Space: (object) => {
    const namespace = (object as Space).status?.namespace;
    return namespace === undefined ? {} : { spaceNamespace: namespace };
  },
};

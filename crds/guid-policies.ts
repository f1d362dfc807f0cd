// Decides whose GUID label is honoured at creation: no object inherits the GUID of another that is gone (ADR 24).
import { CALLER_IS_PLATFORM, toPolicyResource, type AdmissionPolicy } from "./admission-policy.ts";
import { DEFINITIONS } from "./definitions.ts";
import { FRESH_SECONDS } from "./guid.ts";
import { IsolationSegment } from "./isolation-segment/isolation-segment.ts";
import { SHARED_SEGMENT, SHARED_SEGMENT_GUID } from "./isolation-segment/shared-segment.ts";
import { STABLE_LABELS } from "./labels.ts";
import { Route } from "./route/route.ts";

const KEY = `'${STABLE_LABELS.guid}'`;
const hasLabel = (object: string): string => `(has(${object}.metadata.labels) && ${KEY} in ${object}.metadata.labels)`;
/** The segment that CF has everywhere under one GUID; the chart's Job makes it, which may create no claims. */
const IS_SHARED_SEGMENT = `request.resource.resource == '${IsolationSegment.plural}' && object.metadata.name == '${SHARED_SEGMENT}' && object.metadata.labels[${KEY}] == '${SHARED_SEGMENT_GUID}'`;
const labelOf = (object: string): string => `${object}.metadata.labels[${KEY}]`;

export function guidPolicies(): AdmissionPolicy[] {
  return [newGUIDPolicy(), keptGUIDPolicy()];
}

/**
 * Whoever creates an object may give it a GUID that was made for it just now, as the API does, and no other: logs, droplets and the instance at a broker are
 * found by GUID, also after their object is gone. The platform may, as its GUIDs may derive from other objects, and so may who restores a backup: both may
 * create claims. A route that goes to another space keeps its GUID, and nothing is found by that of a route.
 */
function newGUIDPolicy(): AdmissionPolicy {
  const guid = labelOf("object");
  // Hex digits of milliseconds, of which the first is 0 until the year 2527.
  const digitsAt = (seconds: string): string => `'0%x'.format([(variables.created ${seconds}) * 1000])`;
  return {
    name: "new-guid.cupola.dev",
    resources: DEFINITIONS.filter(({ kind }) => kind !== Route.kind).map((definition) => toPolicyResource(definition)),
    operations: ["CREATE"],
    matchConditions: [{ name: "has-a-guid", expression: hasLabel("object") }],
    variables: [
      { name: "created", expression: "int(timestamp(object.metadata.creationTimestamp))" },
      {
        name: "time",
        expression: `${guid}.matches('^0[0-9a-f]{7}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$') ? ${guid}.substring(0, 8) + ${guid}.substring(9, 13) : ''`,
      },
    ],
    validations: [
      {
        expression: `(variables.time > ${digitsAt(`- ${FRESH_SECONDS}`)} && variables.time < ${digitsAt(`+ ${FRESH_SECONDS}`)}) || (${IS_SHARED_SEGMENT}) || ${CALLER_IS_PLATFORM}`,
        message: `the label ${STABLE_LABELS.guid} names the GUID of another object, or one that was not made just now: remove the label, and the object gets a GUID of its own. Whoever restores a backup needs the right to create claims in cupola-system`,
        reason: "Invalid",
      },
    ],
  };
}

/**
 * A GUID label is never added, changed or removed by users: an older object that adds one later could take over the GUID of an object in another
 * namespace (guid.ts). Only the platform, which may create claims, sets GUIDs and repairs duplicates.
 */
function keptGUIDPolicy(): AdmissionPolicy {
  const [now, before] = [hasLabel("object"), hasLabel("oldObject")];
  return {
    name: "guid.cupola.dev",
    resources: DEFINITIONS.map((definition) => toPolicyResource(definition)),
    operations: ["UPDATE"],
    validations: [
      {
        expression: `(${now} == ${before} && (!${now} || ${labelOf("object")} == ${labelOf("oldObject")})) || ${CALLER_IS_PLATFORM}`,
        message: `the label ${STABLE_LABELS.guid} is immutable; only the platform adds it`,
        reason: "Invalid",
      },
    ],
  };
}

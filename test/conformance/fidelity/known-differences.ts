// The differences that are accepted, each with its reason. A difference that none of these explains is a fault of the embedded server.
import { isDeepStrictEqual } from "node:util";
import type { Json } from "../kubernetes/api.ts";
import type { Difference } from "./compare.ts";
import { contradictions, hasMisusedDirective, hasStructuredKey, viewOfKind } from "./directives.ts";
import { kindOf } from "./kinds.ts";

export interface KnownDifference {
  /** Short and unique. */
  name: string;
  /** Why it is accepted, for docs/fidelity.md. */
  reason: string;
  /** Whether this is all that differs. */
  explains?(difference: Difference): boolean;
  /** Parts of messages that are not compared: what matches is cut off on both sides, up to the end of the line. */
  messagePatterns?: readonly RegExp[];
}

export const KNOWN_DIFFERENCES: readonly KnownDifference[] = [
  {
    name: "how Go prints types and values",
    reason:
      "messages about values of a wrong type quote Go's own types and struct fields; status, reason and the path of the field are the same",
    messagePatterns: [
      /(?<=, got ).*/,
      /failed to convert new .*/,
      /(?<=error strict decoding YAML: ).*/,
      /error decoding from json.*/,
      /cannot convert \w+ to [\w.]+/,
      /(?:error decoding patch: )?json: .*/,
      /illegal base64 data.*/,
      /unable to unmarshal.*/,
      /cannot restore .*/,
      /unrecognized type: .*/,
      /parsing time .*/,
      /\w+ in version "\w+" cannot be handled as a \w+: …/,
    ],
  },
  {
    name: "server-side apply of a Scale that nobody manages",
    reason: "kube-apiserver fails with 500 where the replicas of a custom resource have no owner; here they get one",
    explains: ({ step, real }) => step.subresource === "scale" && step.patch === "apply" && real.status === 500,
  },
  {
    name: "an unreadable Scale",
    reason:
      "kube-apiserver complains about its own scheme when the Scale of a custom resource has a wrong type; status and reason are the same",
    explains: ({ step, real, embedded }) =>
      step.subresource === "scale" && real.status === 400 && embedded.status === 400,
  },
  {
    name: "directives of strategic merge patches where they have no meaning",
    reason:
      "an order or a deletion for a field that is no list, or a list that does not merge, an order of nothing or without keys, $patch with another word or in such a list: kube-apiserver answers 400, 422 or 500 or panics, here some of it is passed over",
    explains: ({ step, real, embedded }) =>
      step.patch === "strategic" &&
      [real, embedded].some(({ status }) => status === 0 || status >= 400) &&
      hasMisusedDirective(viewOfKind(step.kind), step.body),
  },
  {
    name: "a value given and deleted by one strategic merge patch",
    reason:
      "in kube-apiserver the order in which Go walks a map decides whether the value is there afterwards, and owned by who sent it; here it is not",
    explains: ({ step, deviations }) => {
      const fields = step.patch === "strategic" ? contradictions(step.body) : [];
      return (
        fields.length > 0 &&
        deviations.every(
          ({ path }) =>
            /\bmetadata\.(?:managedFields|resourceVersion)\b/.test(path) ||
            fields.some((field) => path.includes(field)),
        )
      );
    },
  },
  {
    name: "the template of pods beyond volumes and what containers run",
    reason:
      "rules of resources, security contexts, scheduling, aliases of hosts and the like are not there: nothing here runs pods",
    explains: ({ step, real, embedded }) =>
      step.kind === "Deployment" &&
      isOnlyMore({ real, embedded }, ({ field }) =>
        /^spec\.template\.spec\.(?!volumes|containers(?!\[\d+\]\.(?:resources|securityContext)\b))/.test(String(field)),
      ),
  },
  {
    name: "an empty list or map, and none, in messages",
    reason:
      "kube-apiserver quotes the rules of an Ingress and the labels of a template as they came, empty or absent; here both are absent",
    messagePatterns: [
      /(?<=Invalid value: )(?:null|\[\])(?=: either `defaultBackend`)/,
      /(?<=Invalid value: )(?:null|\{\})(?=: `selector` does not match)/,
    ],
  },
  {
    name: "the traffic policy of a Service that is another name, or was",
    reason:
      "kube-apiserver stores it, shows it to none but who deletes, and takes it from its owner with the next change, unless that gives the Service addresses again; here it is not stored",
    explains: ({ step, real, embedded }) =>
      step.kind === "Service" &&
      embedded.body.spec?.externalName !== undefined &&
      isDeepStrictEqual(withoutPolicy(embedded.body), withoutPolicy(real.body)),
  },
  {
    name: "warnings about built-in kinds",
    reason: "kube-apiserver warns of fields that are deprecated or without effect; nothing depends on it",
    explains: ({ step, deviations }) =>
      kindOf(step.kind).builtin && deviations.every(({ path }) => path.startsWith("warnings")),
  },
  {
    name: "one fault told several times",
    reason:
      "kube-apiserver judges the metadata of a change for all objects, for changes and for the kind, and tells the same fault each time; here it is told once, and compared once",
  },
  {
    name: "selfLink",
    reason:
      "a field that means nothing any more: kube-apiserver keeps or drops what a client sends, depending on the verb; here it goes",
    explains: ({ deviations }) => deviations.every(({ path }) => path.includes("selfLink")),
  },
  {
    name: "texts with a format, applied as something else",
    reason:
      "kube-apiserver's merging takes any scalar where a format is given and a conflict, its decoding or its validation refuses it with 409, 500 or 422; here merging refuses it with 500",
    explains: ({ step, embedded, real }) =>
      step.patch === "apply" &&
      embedded.status === 500 &&
      [409, 422, 500].includes(real.status) &&
      /expected (string|any)/.test(String(embedded.body.message)),
  },
  {
    name: "a status that is no object",
    reason: "both refuse it with 422; kube-apiserver tells its type twice, once without a field",
    explains: ({ step, real, embedded }) =>
      step.subresource === "status" &&
      real.status === 422 &&
      embedded.status === 422 &&
      JSON.stringify(real.body.details?.causes).includes(" in body must be of type object"),
  },
  {
    name: "an applied field that nobody declared",
    reason:
      "kube-apiserver stops at it, and what it has found by then depends on the order in which Go walks a map; both refuse with 500 and name it",
    explains: ({ step, real, embedded }) =>
      step.patch === "apply" &&
      [real, embedded].every(
        ({ status, body }) => status === 500 && /field not declared in schema/.test(String(body.message)),
      ),
  },
  {
    name: "nothing given to what is immutable",
    reason:
      "kube-apiserver refuses an empty map of data for an immutable ConfigMap or Secret that has none, since Go tells an empty map from none; here nothing changes",
    explains: ({ step, real, embedded }) =>
      ["ConfigMap", "Secret"].includes(step.kind) && isOnlyMore({ real, embedded }, isOfImmutableData),
  },
  {
    name: "an empty list of rules in the last change of a Role",
    reason:
      "kube-apiserver answers with what was sent when the change lets the Role go, and with null when it stores it; here it is null",
    explains: ({ step, deviations }) =>
      step.kind === "Role" &&
      deviations.every(
        ({ path, embedded, real }) => path === "body.rules" && embedded === null && isDeepStrictEqual(real, []),
      ),
  },
  {
    name: "an empty list of hosts in the TLS of an Ingress",
    reason: "to kube-apiserver it differs from none, so that who sends it owns the list; here it is none",
    explains: ({ step, deviations }) =>
      step.kind === "Ingress" &&
      JSON.stringify(step.body).includes('"hosts":[]') &&
      deviations.every(({ path }) => path.startsWith("body.metadata.managedFields")),
  },
  {
    name: "a null among binary data, or in a Secret",
    reason:
      "kube-apiserver shows it as an empty text and stores it so with the next change, whatever that is: one version more",
    explains: ({ step, real, deviations }) =>
      ["ConfigMap", "Secret"].includes(step.kind) &&
      Object.values((real.body.binaryData ?? real.body.data ?? {}) as object).includes("") &&
      deviations.every(({ path }) => path === "body.metadata.resourceVersion"),
  },
  {
    name: "a second that ends between two writes",
    reason:
      "owners stand in the order of the seconds in which they wrote; a write that changes nothing but that order makes a version, and the seconds of two servers do not end together",
    explains: ({ real, embedded, deviations }) =>
      [real, embedded].every(({ body }) => (body.metadata?.managedFields?.length ?? 0) > 1) &&
      deviations.every(
        ({ path }) =>
          path === "body.metadata.resourceVersion" || /^body\.metadata\.managedFields\[\d+\]\.time$/.test(path),
      ),
  },
  {
    name: "a panic of kube-apiserver",
    reason:
      "it hangs up on a JSON patch that removes something from a map that the patch has made null, and on a strategic merge patch in which the key of an item is a map or a list; here both are 422",
    explains: ({ step, real, embedded }) =>
      real.status === 0 &&
      embedded.status === 422 &&
      (step.patch === "json" || (step.patch === "strategic" && hasStructuredKey(viewOfKind(step.kind), step.body))),
  },
  {
    name: "a quantity of more than a thousand characters, or whose exponent has more than three digits",
    reason:
      "kube-apiserver takes it, and computes what it means, for minutes where it has nine digits; here it is 400 at once",
  },
  {
    name: "a Service without a name, or with one that no path could have",
    reason:
      "kube-apiserver tries all addresses that it has, one after the other, for minutes, also when the client has gone, and delays all Services meanwhile; sequences leave such names out; here it is 422 at once",
  },
  {
    name: "a namespace made as one that is being deleted",
    reason: "no controller runs beside the kube-apiserver of these tests that would finish it; here one does",
    explains: ({ step, real, embedded }) =>
      step.kind === "Namespace" &&
      [200, 201, 404].includes(embedded.status) &&
      (Boolean(real.body.metadata?.deletionTimestamp) || isOnlyMore({ real, embedded }, isOfDeleted)),
  },
  {
    name: "the order of the finalizers of a Namespace that is deleted",
    reason:
      "kube-apiserver walks a map of Go's to put them together, so that it differs from time to time; here they stay as they were",
    explains: ({ step, real, embedded, deviations }) =>
      step.kind === "Namespace" &&
      step.verb === "delete" &&
      deviations.every(({ path }) => path.startsWith("body.metadata.finalizers[")) &&
      isDeepStrictEqual(
        ...([real, embedded].map(({ body }) => (body.metadata.finalizers as string[]).toSorted()) as [
          string[],
          string[],
        ]),
      ),
  },
  {
    name: "an empty last page",
    reason: "asked for pages of what a selector chooses, kube-apiserver may promise one more in which nothing is left",
    explains: ({ step, real, embedded }) =>
      step.verb === "list" &&
      "limit" in step.query &&
      real.status === 200 &&
      embedded.status === 200 &&
      isDeepStrictEqual(itemsOf(real.body), itemsOf(embedded.body)),
  },
  {
    name: "a body without a kind",
    reason: "kube-apiserver quotes the body as it came, cut at places that depend on the reader",
    messagePatterns: [/[^"]*Object 'Kind' is missing in .*/],
  },
  {
    name: "a bad object is quoted with its patch",
    reason:
      "the whole patched object, or the metadata of one inside it, stands in the message, its fields in Go's order",
    messagePatterns: [
      /(?<=patch: Invalid value: |^Invalid value: )"\{.*\}"(?=: |…)/,
      /(?<=patch: Invalid value: |^Invalid value: )"map\[.*\]"(?=: )/,
      /(?<=\.metadata: Invalid value: )\{.*\}(?=: )/,
      /(?<=patch: Invalid value: )"\{.*/,
    ],
  },
];

/** Whether kube-apiserver refuses, tells all that the embedded server tells, and only such causes besides. */
function isOnlyMore(
  { real, embedded }: Pick<Difference, "real" | "embedded">,
  isKnown: (cause: Json) => boolean,
): boolean {
  if (real.status !== 422 || real.body.reason !== "Invalid") return false;
  const [theirs = [], ours = []] = [real, embedded].map(({ body }) =>
    Array.isArray(body.details?.causes) ? (body.details.causes as Json[]) : [],
  );
  const isAmong = (causes: Json[], cause: Json) => causes.some((each) => isDeepStrictEqual(each, cause));
  return (
    ours.every((cause) => isAmong(theirs, cause)) && theirs.every((cause) => isAmong(ours, cause) || isKnown(cause))
  );
}

const isOfImmutableData = ({ field, message }: Json): boolean =>
  ["data", "binaryData"].includes(field as string) &&
  message === "Forbidden: field is immutable when `immutable` is set";

const isOfDeleted = ({ field, message }: Json): boolean =>
  field === "metadata.finalizers" && String(message).includes("if the object is being deleted");

/** A Service as if it had no traffic policy, and nobody owned it. */
function withoutPolicy(object: Json): Json {
  const { internalTrafficPolicy: _none, ...spec } = object.spec ?? {};
  const managedFields = object.metadata?.managedFields?.map(({ fieldsV1, ...entry }: Json) => {
    const { "f:internalTrafficPolicy": _gone, ...owned } = fieldsV1["f:spec"] ?? {};
    return { ...entry, fieldsV1: { ...fieldsV1, "f:spec": owned } };
  });
  return {
    ...object,
    spec,
    metadata: {
      ...object.metadata,
      managedFields: managedFields?.toSorted((a: Json, b: Json) =>
        a.manager + a.operation < b.manager + b.operation ? -1 : 1,
      ),
    },
  };
}

/** Of a list, or of its pages. */
const itemsOf = (body: Json): Json => [body].flat().flatMap((page: Json) => page.items as Json[]);

/** A message without the words that may differ. */
export function withoutMessagePatterns(message: string): string {
  return KNOWN_DIFFERENCES.flatMap(({ messagePatterns = [] }) => messagePatterns).reduce(
    (text, words) => text.replaceAll(new RegExp(words, "g"), "…"),
    message,
  );
}

// The accepted differences, each with its reason. Any other difference is a fault of the embedded server.
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
      "a message about a value of a wrong type quotes Go's own types and struct fields; status, reason and the path of the field are the same",
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
    reason:
      "kube-apiserver answers 500 when nobody owns the replicas of a custom resource; the embedded server makes the applier the owner",
    explains: ({ step, real }) => step.subresource === "scale" && step.patch === "apply" && real.status === 500,
  },
  {
    name: "a Scale with a value of a wrong type",
    reason: "for a custom resource kube-apiserver's message is about its own scheme; status and reason are the same",
    explains: ({ step, real, embedded }) =>
      step.subresource === "scale" && real.status === 400 && embedded.status === 400,
  },
  {
    name: "misplaced directives of strategic merge patches",
    reason:
      "an order or a deletion list for a field that is no merging list, an order without keys, an unknown $patch: kube-apiserver answers 400, 422 or 500, or panics; the embedded server ignores some of them",
    explains: ({ step, real, embedded }) =>
      step.patch === "strategic" &&
      [real, embedded].some(({ status }) => status === 0 || status >= 400) &&
      hasMisusedDirective(viewOfKind(step.kind), step.body),
  },
  {
    name: "a strategic merge patch that sets and deletes the same value",
    reason:
      "kube-apiserver keeps or deletes the value depending on the order in which Go walks a map; the embedded server deletes it",
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
    name: "most rules of pod templates",
    reason:
      "the embedded server checks volumes and containers, but not resources, security contexts, scheduling or host aliases: nothing here runs pods",
    explains: ({ step, real, embedded }) =>
      step.kind === "Deployment" &&
      isOnlyMore({ real, embedded }, ({ field }) =>
        /^spec\.template\.spec\.(?!volumes|containers(?!\[\d+\]\.(?:resources|securityContext)\b))/.test(String(field)),
      ),
  },
  {
    name: "empty and absent values in messages",
    reason:
      "kube-apiserver quotes the rules of an Ingress and the labels of a template as empty or absent, as the client sent them; the embedded server always says absent",
    messagePatterns: [
      /(?<=Invalid value: )(?:null|\[\])(?=: either `defaultBackend`)/,
      /(?<=Invalid value: )(?:null|\{\})(?=: `selector` does not match)/,
    ],
  },
  {
    name: "the traffic policy of a Service of type ExternalName",
    reason:
      "kube-apiserver stores it, shows it only in the answer to a delete, and drops it at the next change; the embedded server does not store it",
    explains: ({ step, real, embedded }) =>
      step.kind === "Service" &&
      embedded.body.spec?.externalName !== undefined &&
      isDeepStrictEqual(withoutPolicy(embedded.body), withoutPolicy(real.body)),
  },
  {
    name: "warnings about built-in kinds",
    reason:
      "kube-apiserver warns of fields that are deprecated or have no effect; the embedded server does not, and nothing depends on it",
    explains: ({ step, deviations }) =>
      kindOf(step.kind).builtin && deviations.every(({ path }) => path.startsWith("warnings")),
  },
  {
    name: "one fault reported several times",
    reason:
      "kube-apiserver validates the metadata of an update in three places and may report one fault three times; the embedded server reports it once",
  },
  {
    name: "selfLink",
    reason:
      "a field without meaning today: kube-apiserver keeps or drops it depending on the verb; the embedded server always drops it",
    explains: ({ deviations }) => deviations.every(({ path }) => path.includes("selfLink")),
  },
  {
    name: "an applied value of a wrong type where the schema has a string with a format",
    reason:
      "kube-apiserver refuses it with 409, 422 or 500, depending on whether merging, decoding or validation finds it; the embedded server answers 500, from merging",
    explains: ({ step, embedded, real }) =>
      step.patch === "apply" &&
      embedded.status === 500 &&
      [409, 422, 500].includes(real.status) &&
      /expected (string|any)/.test(String(embedded.body.message)),
  },
  {
    name: "a status that is not an object",
    reason: "both answer 422; kube-apiserver reports the type twice, once without a field",
    explains: ({ step, real, embedded }) =>
      step.subresource === "status" &&
      real.status === 422 &&
      embedded.status === 422 &&
      JSON.stringify(real.body.details?.causes).includes(" in body must be of type object"),
  },
  {
    name: "an applied field that the schema does not declare",
    reason:
      "both answer 500 and name the field; kube-apiserver stops there, so the other faults in its message depend on the order in which Go walks a map",
    explains: ({ step, real, embedded }) =>
      step.patch === "apply" &&
      [real, embedded].every(
        ({ status, body }) => status === 500 && /field not declared in schema/.test(String(body.message)),
      ),
  },
  {
    name: "an empty map for an immutable ConfigMap or Secret without data",
    reason:
      "Go tells an empty map from none, so kube-apiserver refuses it as a change; in the embedded server nothing changes",
    explains: ({ step, real, embedded }) =>
      ["ConfigMap", "Secret"].includes(step.kind) && isOnlyMore({ real, embedded }, isOfImmutableData),
  },
  {
    name: "an empty list of rules in the change that removes the last finalizer of a Role",
    reason:
      "kube-apiserver answers with the list as it was sent, and with null when it stores the Role; the embedded server answers null",
    explains: ({ step, deviations }) =>
      step.kind === "Role" &&
      deviations.every(
        ({ path, embedded, real }) => path === "body.rules" && embedded === null && isDeepStrictEqual(real, []),
      ),
  },
  {
    name: "an empty list of hosts in the TLS of an Ingress",
    reason:
      "kube-apiserver tells it from none, so whoever sends it owns the list; the embedded server treats it as none",
    explains: ({ step, deviations }) =>
      step.kind === "Ingress" &&
      JSON.stringify(step.body).includes('"hosts":[]') &&
      deviations.every(({ path }) => path.startsWith("body.metadata.managedFields")),
  },
  {
    name: "a null in binary data or in a Secret",
    reason:
      "kube-apiserver shows it as an empty text and stores that with the next change, which makes one more version",
    explains: ({ step, real, deviations }) =>
      ["ConfigMap", "Secret"].includes(step.kind) &&
      Object.values((real.body.binaryData ?? real.body.data ?? {}) as object).includes("") &&
      deviations.every(({ path }) => path === "body.metadata.resourceVersion"),
  },
  {
    name: "a second that ends between two writes",
    reason:
      "managers are sorted by the second of their last write, and a change of that order alone makes a version; the two servers do not change second at the same moment",
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
      "it closes the connection on a JSON patch that removes something from a map which the same patch set to null, and on a strategic merge patch whose list item has a map or list as its key; the embedded server answers 422",
    explains: ({ step, real, embedded }) =>
      real.status === 0 &&
      embedded.status === 422 &&
      (step.patch === "json" || (step.patch === "strategic" && hasStructuredKey(viewOfKind(step.kind), step.body))),
  },
  {
    name: "a quantity of more than a thousand characters, or whose exponent has more than three digits",
    reason:
      "kube-apiserver accepts it and computes its value, which takes minutes with nine digits; the embedded server answers 400 at once",
  },
  {
    name: "a Service with no name, or with a name that no path can hold",
    reason:
      "kube-apiserver tries every free address, one after the other, for minutes, even when the client has left, and delays all other Services; the embedded server answers 422 at once. The random sequences leave such names out",
  },
  {
    name: "a namespace created with a deletion timestamp",
    reason:
      "beside the kube-apiserver of these tests runs no controller that would finish its deletion; the embedded server finishes it",
    explains: ({ step, real, embedded }) =>
      step.kind === "Namespace" &&
      [200, 201, 404].includes(embedded.status) &&
      (Boolean(real.body.metadata?.deletionTimestamp) || isOnlyMore({ real, embedded }, isOfDeleted)),
  },
  {
    name: "the order of the finalizers of a Namespace that is deleted",
    reason: "kube-apiserver collects them in a map of Go, so their order varies; the embedded server keeps it",
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
    reason:
      "when a list has a selector and a limit, kube-apiserver may announce one more page that turns out to be empty",
    explains: ({ step, real, embedded }) =>
      step.verb === "list" &&
      "limit" in step.query &&
      real.status === 200 &&
      embedded.status === 200 &&
      isDeepStrictEqual(itemsOf(real.body), itemsOf(embedded.body)),
  },
  {
    name: "a body without a kind",
    reason: "kube-apiserver quotes the body as it was sent, cut at places that depend on the reader",
    messagePatterns: [/[^"]*Object 'Kind' is missing in .*/],
  },
  {
    name: "an invalid patched object in a message",
    reason: "kube-apiserver quotes the whole object, or the metadata of one inside it, with its fields in Go's order",
    messagePatterns: [
      /(?<=patch: Invalid value: |^Invalid value: )"\{.*\}"(?=: |…)/,
      /(?<=patch: Invalid value: |^Invalid value: )"map\[.*\]"(?=: )/,
      /(?<=\.metadata: Invalid value: )\{.*\}(?=: )/,
      /(?<=patch: Invalid value: )"\{.*/,
    ],
  },
];

/** Whether kube-apiserver answers 422 with all causes that the embedded server names, and only known ones besides. */
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

/** Items of a list, or of its pages. */
const itemsOf = (body: Json): Json => [body].flat().flatMap((page: Json) => page.items as Json[]);

/** A message without the words that may differ. */
export function withoutMessagePatterns(message: string): string {
  return KNOWN_DIFFERENCES.flatMap(({ messagePatterns = [] }) => messagePatterns).reduce(
    (text, words) => text.replaceAll(new RegExp(words, "g"), "…"),
    message,
  );
}

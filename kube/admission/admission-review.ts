// Parses the AdmissionReview (v1) of a validating webhook and renders the response. Pure.
import type { KubeObject } from "../api/object.ts";
import { parseJson } from "../api/parse-json.ts";

const API_VERSION = "admission.k8s.io/v1";

/** The fields of a request that a decision may use. */
export interface AdmissionRequest {
  uid: string;
  kind: { group: string; version: string; kind: string };
  operation: "CREATE" | "UPDATE" | "DELETE" | "CONNECT";
  namespace?: string | undefined;
  /** With defaults and a name, also when generated. Absent on DELETE. */
  object?: KubeObject | undefined;
  /** Absent on CREATE. */
  oldObject?: KubeObject | undefined;
  /** Claimed by the client; not authenticated. */
  fieldManager?: string | undefined;
  /** The writer, as the API server authenticated it. */
  user: { name: string; groups: string[] };
}

/** Allow the write, or deny it with a message for the user. Warnings go to the writer in both cases. */
export type AdmissionDecision = (
  { allowed: true } | { allowed: false; code: number; reason: string; message: string }
) & { warnings?: readonly string[] };

export const ALLOWED: AdmissionDecision = { allowed: true };

type Fields = Record<string, unknown>;

/** @throws Error that describes the malformed review */
export function parseReview(text: string): AdmissionRequest {
  const { uid, operation, kind, namespace, object, oldObject, options, userInfo } = requestIn(parseJson(text));
  const gvk = fieldsOf(kind);
  if (!gvk || typeof uid !== "string" || typeof operation !== "string")
    throw new Error("the AdmissionReview has no complete request");
  return {
    uid,
    kind: { group: textOf(gvk["group"]), version: textOf(gvk["version"]), kind: textOf(gvk["kind"]) },
    operation: operation as AdmissionRequest["operation"],
    namespace: textOf(namespace) || undefined,
    object: objectOf(object),
    oldObject: objectOf(oldObject),
    fieldManager: textOf(fieldsOf(options)?.["fieldManager"]) || undefined,
    user: userOf(fieldsOf(userInfo)),
  };
}

/** The response body. */
export function presentReview(uid: string, verdict: AdmissionDecision): string {
  const status = verdict.allowed
    ? undefined
    : { status: "Failure", code: verdict.code, reason: verdict.reason, message: verdict.message };
  return JSON.stringify({
    apiVersion: API_VERSION,
    kind: "AdmissionReview",
    response: {
      uid,
      allowed: verdict.allowed,
      ...(status && { status }),
      ...(verdict.warnings && verdict.warnings.length > 0 && { warnings: verdict.warnings }),
    },
  });
}

function requestIn(body: unknown): Fields {
  const review = fieldsOf(body);
  if (review?.["apiVersion"] !== API_VERSION || review["kind"] !== "AdmissionReview")
    throw new Error(`not an AdmissionReview of ${API_VERSION}`);
  return fieldsOf(review["request"]) ?? {};
}

function fieldsOf(value: unknown): Fields | undefined {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Fields) : undefined;
}

function objectOf(value: unknown): KubeObject | undefined {
  const object = fieldsOf(value);
  return object && fieldsOf(object["metadata"]) ? (object as unknown as KubeObject) : undefined;
}

function userOf({ username, groups }: Fields = {}): AdmissionRequest["user"] {
  return { name: textOf(username), groups: Array.isArray(groups) ? groups.map(textOf) : [] };
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

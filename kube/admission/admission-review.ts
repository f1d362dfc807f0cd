// What an API server asks a validating webhook (AdmissionReview, v1), and the answer to it. Pure.
import type { KubeObject } from "../api/object.ts";
import { parseJson } from "../api/parse-json.ts";

const API_VERSION = "admission.k8s.io/v1";

/** The part of a question that a decision may look at. */
export interface AdmissionRequest {
  uid: string;
  kind: { group: string; version: string; kind: string };
  operation: "CREATE" | "UPDATE" | "DELETE" | "CONNECT";
  namespace?: string | undefined;
  /** With defaults filled in and a name, generated ones too. Absent on DELETE. */
  object?: KubeObject | undefined;
  /** Absent on CREATE. */
  oldObject?: KubeObject | undefined;
  /** Who says that it writes; anyone may say anything. */
  fieldManager?: string | undefined;
}

/** Let it through, or refuse it with words for the person who asked. */
export type AdmissionDecision = { allowed: true } | { allowed: false; code: number; reason: string; message: string };

export const ALLOWED: AdmissionDecision = { allowed: true };

type Fields = Record<string, unknown>;

/** @throws Error that says what is wrong with the question */
export function parseReview(text: string): AdmissionRequest {
  const { uid, operation, kind, namespace, object, oldObject, options } = requestIn(parseJson(text));
  const gvk = fieldsOf(kind);
  if (!gvk || typeof uid !== "string" || typeof operation !== "string")
    throw new Error("an AdmissionReview without a whole request");
  return {
    uid,
    kind: { group: textOf(gvk["group"]), version: textOf(gvk["version"]), kind: textOf(gvk["kind"]) },
    operation: operation as AdmissionRequest["operation"],
    namespace: textOf(namespace) || undefined,
    object: objectOf(object),
    oldObject: objectOf(oldObject),
    fieldManager: textOf(fieldsOf(options)?.["fieldManager"]) || undefined,
  };
}

/** The body of the answer. */
export function presentReview(uid: string, verdict: AdmissionDecision): string {
  const status = verdict.allowed
    ? undefined
    : { status: "Failure", code: verdict.code, reason: verdict.reason, message: verdict.message };
  return JSON.stringify({
    apiVersion: API_VERSION,
    kind: "AdmissionReview",
    response: { uid, allowed: verdict.allowed, ...(status && { status }) },
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

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

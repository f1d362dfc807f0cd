// AdmissionReview (v1): what a webhook is asked, and what its answer means.
import type { KubeObject } from "../../../../kube/api/object.ts";
import { isMap } from "../../apply/values.ts";
import type { AdmissionRequest, StatusBody } from "../../types.ts";
import { StatusError } from "../../status.ts";

const API_VERSION = "admission.k8s.io/v1";

/** The question. @param original the request in the version that the client used. */
export function reviewOf(uid: string, request: AdmissionRequest, original: AdmissionRequest): object {
  const { user, gvk, gvr, subresource } = request;
  return {
    kind: "AdmissionReview",
    apiVersion: API_VERSION,
    request: {
      uid,
      kind: gvk,
      resource: gvr,
      ...(subresource && { subResource: subresource }),
      requestKind: original.gvk,
      requestResource: original.gvr,
      ...(subresource && { requestSubResource: subresource }),
      ...(request.name && { name: request.name }),
      ...(request.namespace && { namespace: request.namespace }),
      operation: request.operation,
      userInfo: {
        username: user.name,
        ...(user.uid && { uid: user.uid }),
        groups: user.groups,
        ...(Object.keys(user.extra ?? {}).length > 0 && { extra: user.extra }),
      },
      object: shown(request.object),
      oldObject: shown(request.oldObject),
      dryRun: request.dryRun,
      options: request.options ?? null,
    },
  };
}

/** A new object has no creation time yet; Go prints it as null. */
function shown(object: KubeObject | undefined): object | null {
  if (!object) return null;
  return object.metadata.creationTimestamp === undefined
    ? { ...object, metadata: { ...object.metadata, creationTimestamp: null } }
    : object;
}

/** A webhook's answer. */
export interface Answer {
  warnings: string[];
  /** Why the write is refused. */
  refusal?: StatusError;
  /** JSON patch operations; absent when there are none. */
  patch?: unknown[];
}

interface Response {
  uid?: unknown;
  allowed?: unknown;
  status?: unknown;
  patch?: unknown;
  patchType?: unknown;
  warnings?: unknown;
}

/** Reads the answer to the review `uid`. Throws Error, in kube-apiserver's words, on one that does not count. */
export function readAnswer(body: unknown, asked: { uid: string; hook: string; mutating: boolean }): Answer {
  const response = responseOf(body, asked.uid);
  const warnings = Array.isArray(response.warnings) ? response.warnings.filter((one) => typeof one === "string") : [];
  if (response.allowed !== true) return { warnings, refusal: refusalOf(asked.hook, response.status) };
  const patch = patchOf(response, asked.mutating);
  return { warnings, ...(patch && patch.length > 0 && { patch }) };
}

function responseOf(body: unknown, uid: string): Response {
  if (!isMap(body)) throw new Error("received invalid webhook response: not an object");
  if (!isMap(body.response)) throw new Error("received invalid webhook response: webhook response was absent");
  const { response } = body;
  if (response.uid !== uid)
    throw new Error(
      `received invalid webhook response: expected response.uid=${JSON.stringify(uid)}, got ${JSON.stringify(response.uid ?? "")}`,
    );
  if (body.apiVersion !== API_VERSION || body.kind !== "AdmissionReview") {
    throw new Error(
      `received invalid webhook response: expected webhook response of admission.k8s.io/v1, Kind=AdmissionReview, got ${String(body.apiVersion)}, Kind=${String(body.kind)}`,
    );
  }
  checkPatchType(response);
  return response;
}

function checkPatchType({ patch, patchType }: Response): void {
  const fault = (text: string) => new Error(`received invalid webhook response: ${text}`);
  if (patch && patchType === undefined) throw fault("webhook returned response.patch but not response.patchType");
  if (!patch && patchType !== undefined) throw fault("webhook returned response.patchType but not response.patch");
  if (patchType !== undefined && patchType !== "JSONPatch")
    throw fault(`unsupported patch type ${JSON.stringify(patchType)}`);
}

function patchOf({ patch }: Response, mutating: boolean): unknown[] | undefined {
  if (!patch) return undefined;
  if (!mutating) throw new Error("received invalid webhook response: validating webhook may not return response.patch");
  const text = typeof patch === "string" ? Buffer.from(patch, "base64").toString("utf8") : "";
  try {
    const operations: unknown = JSON.parse(text);
    if (Array.isArray(operations)) return operations;
  } catch (cause) {
    throw new Error("received undecodable patch in webhook response", { cause });
  }
  throw new Error("received undecodable patch in webhook response");
}

/** A refusal is never a success, and always says who refused. */
function refusalOf(hook: string, told: unknown): StatusError {
  const status: Partial<StatusBody> = isMap(told) ? told : {};
  const denied = `admission webhook ${JSON.stringify(hook)} denied the request`;
  const why = status.message || status.reason;
  const code = Number(status.code) >= 400 && Number(status.code) < 600 ? Number(status.code) : 400;
  return new StatusError({
    kind: "Status",
    apiVersion: "v1",
    metadata: {},
    status: "Failure",
    message: why ? `${denied}: ${why}` : `${denied} without explanation`,
    ...(status.reason && { reason: String(status.reason) }),
    ...(isMap(status.details) && { details: status.details }),
    code,
  });
}

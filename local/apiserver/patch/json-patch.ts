// JSON patch (RFC 6902) over a copy of an object, with kube-apiserver's refusals.
import { applyPatch, type Operation } from "rfc6902";
import type { KubeObject } from "../../../kube/object.ts";
import { badRequest, failure } from "../status.ts";

const MOST_OPERATIONS = 10_000;

/** Applies `patch` to `target` in place. Throws 400 on what is no patch, 422 on one that does not fit. */
export function jsonPatch(target: KubeObject, patch: unknown): void {
  if (!Array.isArray(patch)) throw badRequest("error decoding patch: json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp");
  if (patch.length > MOST_OPERATIONS) throw failure(413, "RequestEntityTooLarge", `The allowed maximum operations in a JSON patch is ${MOST_OPERATIONS}, got ${patch.length}`);
  const errors = applyPatch(target, patch as Operation[]);
  if (errors.some((error) => error !== null)) throw failure(422, "Invalid", "the server rejected our request due to an error in our request", { details: {} });
}

// JSON patch (RFC 6902) over a copy of an object, with kube-apiserver's refusals.
import { applyPatch, type Operation, Pointer } from "rfc6902";
import type { KubeObject } from "../../../kube/object.ts";
import { isMap } from "../apply/values.ts";
import { badRequest, failure } from "../status.ts";

const MOST_OPERATIONS = 10_000;
/** Characters that the copies of one patch may add. */
const MOST_COPIED = 3 * 1024 * 1024;

/** Applies `patch` to `target` in place. Throws 400 on what is no patch, 422 on one that does not fit. */
export function jsonPatch(target: KubeObject, patch: unknown): void {
  if (!Array.isArray(patch)) throw badRequest("error decoding patch: json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp");
  if (patch.length > MOST_OPERATIONS) throw failure(413, "RequestEntityTooLarge", `The allowed maximum operations in a JSON patch is ${MOST_OPERATIONS}, got ${patch.length}`);
  let copied = 0;
  for (const operation of patch as Operation[]) {
    if (!isPatch(operation)) throw rejected();
    copied += sizeOfCopy(target, operation);
    if (copied > MOST_COPIED) throw failure(413, "RequestEntityTooLarge", `Unable to copy, the accumulated size increase of copy is ${copied}, exceeding the limit ${MOST_COPIED}`);
    applyOne(target, operation);
  }
}

const rejected = () => failure(422, "Invalid", "the server rejected our request due to an error in our request", { details: {} });

const isPointer = (value: unknown): boolean => typeof value === "string" && (value === "" || value.startsWith("/"));

function isPatch(operation: unknown): boolean {
  if (!isMap(operation) || !isPointer(operation.path)) return false;
  return operation.op === "copy" || operation.op === "move" ? isPointer(operation.from) : true;
}

function applyOne(target: KubeObject, given: Operation): void {
  // A value that is not there is null, as Go reads it.
  const operation = "value" in given || !["add", "replace", "test"].includes(given.op) ? given : ({ ...(given as object), value: null } as Operation);
  const [error] = applyPatch(target, [operation]);
  if (error !== null) throw rejected();
}

/** Copies of copies double an object with each operation. */
function sizeOfCopy(target: KubeObject, operation: Operation): number {
  if (operation.op !== "copy") return 0;
  const { value } = Pointer.fromJSON(operation.from).evaluate(target) as { value: unknown };
  return JSON.stringify(value)?.length ?? 0;
}

// Checks suspension before work that no admission policy sees: uploads to the blob store, values in Secrets, requests that change nothing.
import { LABELS, SUSPENDED } from "../../crds/labels.ts";
import { Space } from "../../crds/space/space.ts";
import { Namespace } from "../../kube/api/builtin.ts";
import { CFError } from "../http/errors.ts";
import type { Session } from "./session.ts";
import { BEING_ADMIN, isAdmin } from "./is-admin.ts";
import type { RequiredPermission } from "./required-permission.ts";

const LIMITS: RequiredPermission = { verb: "update", on: Space, subresource: "limits" };

/** The questions of `requireNotSuspended`, which each write may ask. */
export const ASKED_OF_WRITES: readonly RequiredPermission[] = [BEING_ADMIN, LIMITS];

/** Is the namespace suspended, and the caller none who may write to it all the same? */
export function isSuspendedFor(session: Pick<Session, "cache" | "allows">, namespace: string): boolean {
  try {
    requireNotSuspended(session, namespace);
    return false;
  } catch (error) {
    if (error instanceof CFError) return true;
    throw error;
  }
}

/** @throws CFError 403 when the namespace is suspended and the caller may not write to it all the same */
export function requireNotSuspended(session: Pick<Session, "cache" | "allows">, namespace: string | undefined): void {
  const suspended = session.cache.store(Namespace).find({ name: namespace ?? "" })?.metadata.labels?.[LABELS.suspended];
  if (suspended === undefined || isAdmin(session)) return;
  if (suspended !== SUSPENDED.space) throw new CFError("OrgSuspended");
  if (!session.allows({ ...LIMITS, namespace: namespace ?? "" })) throw new CFError("SpaceSuspended");
}

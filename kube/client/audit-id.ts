// The ID under which the API server's audit log records the requests that are made for one request of a person.
import { AsyncLocalStorage } from "node:async_hooks";

const auditIDs = new AsyncLocalStorage<string>();

/** Requests of any client that `work` makes, later ones included, are sent with this ID. It is visible ASCII. */
export function withAuditID<T>(id: string, work: () => T): T {
  return auditIDs.run(id, work);
}

/** For work of several requests that one of them happens to start, such as a flush. */
export function withoutAuditID<T>(work: () => T): T {
  return auditIDs.exit(work);
}

/** Undefined outside of `withAuditID`: the API server makes an ID then. */
export function currentAuditID(): string | undefined {
  return auditIDs.getStore();
}

// A detached app: people manage its workload in Kubernetes, and the CF API starts, stops and scales nothing of it.
import type { App } from "../../../crds/app/app.ts";
import { displayNameOf } from "../../../crds/object-names.ts";
import type { Session } from "../../access/session.ts";
import { unprocessable } from "../../http/errors.ts";
import { processesOf } from "./processes.ts";

/** @throws CFError 422 with the next step */
export function requireAttached(session: Session, app: App | undefined): void {
  if (app === undefined || !processesOf(session, app).some(({ spec }) => spec.detached)) return;
  const name = displayNameOf(app);
  throw unprocessable(
    `App '${name}' is detached: its workload is managed in Kubernetes. Change it there, or take it back with: cup attach ${name}`,
  );
}

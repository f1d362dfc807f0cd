// Refuses the start of an app whose bound services cannot be the files that its features ask for, before `cf` waits for it.
import type { App } from "../../../crds/app/app.ts";
import { servicesDelivery } from "../../../crds/app/features.ts";
import { toBindingFiles } from "../../../crds/service-binding/binding-files.ts";
import type { Session } from "../../access/session.ts";
import { unprocessable } from "../../http/errors.ts";
import { readBoundServices } from "./bindings.ts";

/** Reads Secrets, but for an app without files of services. The refusal has names, as the app's Ready has, and no values. @throws CFError 422 */
export async function requireServiceFiles(session: Session, app: App): Promise<void> {
  const delivery = servicesDelivery(app);
  if (delivery === "environment") return;
  const found = toBindingFiles(delivery, await readBoundServices(session, app));
  if ("problem" in found) throw unprocessable(`The bound services cannot be files: ${found.problem}.`);
}

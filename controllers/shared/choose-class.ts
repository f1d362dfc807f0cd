// Chooses the BackendClass for an object, or ends its reconcile with the reason.
import type { BackendClass } from "../../crds/backend-class/backend-class.ts";
import { findClass, isClassProblem, type ClassSelector } from "../../crds/backend-class/find-class.ts";
import { NotReady, Stalled } from "../../kube/controller/controller.ts";

/**
 * @throws Stalled when the named class is missing, has another role or lacks the capability
 * @throws NotReady when there is no default class (yet) with the capability
 */
export function chooseClass(classes: readonly BackendClass[], selector: ClassSelector): BackendClass {
  const found = findClass(classes, selector);
  if (!isClassProblem(found)) return found;
  if (found.reason === "NoDefaultClass") throw new NotReady(found.reason, found.message, { isFailure: true });
  throw new Stalled(found.reason, found.message);
}

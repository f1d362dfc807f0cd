// Shows on each App and Space which rules of operator policy it breaks, on an App with all that belongs to it: its people may read it there without a right to constraints.
import { App } from "../../crds/app/app.ts";
import { keyOfShown, shownId } from "../../crds/policy-template/shown-on.ts";
import type { Violation } from "../../crds/policy-template/verdict.ts";
import { Space } from "../../crds/space/space.ts";
import type { ResourceRef } from "../../kube/api/resource-ref.ts";
import { defineController, type Controller } from "../../kube/controller/controller.ts";
import { COMPLIES, planShownViolations, type TitleOf } from "./plan-shown-violations.ts";

/** Results of the audit, by the id of the object that shows them. */
export interface ShownViolations {
  /** Undefined until all stored objects were judged. */
  findShownOn(id: string): readonly Violation[] | undefined;
  /** Calls `listener` with the id of an object whose violations changed. Returns the unsubscribe function. */
  onShownChange(listener: (id: string) => void): () => void;
  titleOf: TitleOf;
}

/** A large constraint may concern every app; the control plane has other work. */
const WORKERS = 2;
/** An object whose violations may be over is looked at again until the audit is complete. */
const RETRY_MS = 5_000;

export function shownViolationsControllers(audit: ShownViolations): Controller[] {
  return [toController(App, "app-policy", audit), toController(Space, "space-policy", audit)];
}

function toController(ref: ResourceRef<App | Space>, name: string, audit: ShownViolations): Controller {
  return defineController<App | Space>({
    name,
    for: ref,
    condition: COMPLIES,
    writesObject: false,
    workers: WORKERS,
    sources: [
      (enqueue, signal) => {
        const stop = audit.onShownChange((id) => {
          const key = keyOfShown(ref.kind, id);
          if (key) enqueue(key);
        });
        signal.addEventListener("abort", stop, { once: true });
      },
    ],
    reconcile(object) {
      const violations = audit.findShownOn(shownId(ref.kind, object.metadata));
      if (violations) return planShownViolations(object, violations, audit.titleOf);
      const isStale = (object.status?.policyViolations ?? []).length > 0;
      return { keepStatus: true, ...(isStale && { requeueAfterMs: RETRY_MS }) };
    },
  });
}

// Shows on each App which rules of operator policy it breaks, and what belongs to it: its people may read it there without a right to constraints.
import { App } from "../../crds/app/app.ts";
import { keyOf, parseKey } from "../../kube/api/object.ts";
import type { Violation } from "../../crds/policy-template/verdict.ts";
import { defineController, type Controller } from "../../kube/controller/controller.ts";
import { COMPLIES, planAppViolations, type TitleOf } from "./plan-app-violations.ts";

/** Results of the audit, by app. */
export interface AppViolations {
  /** Undefined until all stored objects were judged. */
  findOfApp(app: string): readonly Violation[] | undefined;
  /** Calls `listener` with the key of an app whose violations changed. Returns the unsubscribe function. */
  onAppChange(listener: (app: string) => void): () => void;
  titleOf: TitleOf;
}

/** A large constraint may concern every app; the control plane has other work. */
const WORKERS = 2;
/** An app whose violations may be over is looked at again until the audit is complete. */
const RETRY_MS = 5_000;

export function appViolationsController(audit: AppViolations): Controller {
  return defineController({
    name: "app-policy",
    for: App,
    condition: COMPLIES,
    writesObject: false,
    workers: WORKERS,
    sources: [
      (enqueue, signal) =>
        signal.addEventListener(
          "abort",
          audit.onAppChange((app) => enqueue(parseKey(app))),
          { once: true },
        ),
    ],
    reconcile(app) {
      const violations = audit.findOfApp(keyOf(app.metadata));
      if (violations) return planAppViolations(app, violations, audit.titleOf);
      const isStale = (app.status?.policyViolations ?? []).length > 0;
      return { keepStatus: true, ...(isStale && { requeueAfterMs: RETRY_MS }) };
    },
  });
}

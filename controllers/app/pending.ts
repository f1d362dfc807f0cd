// Variables of a running app that its instances do not have yet: a change of spec.env alone restarts nothing. Pure.
import type { App } from "../../crds/app/app.ts";
import type { Revision } from "../../crds/revision/revision.ts";
import type { EnvVar } from "../../crds/schema-fields.ts";
import type { ConditionDraft } from "../../kube/controller/controller.ts";

export const RESTART_PENDING = "RestartPending";
const MAX_NAMED = 10;

/** The condition RestartPending: none where it never was. `running` is the Revision in force. Of variables from Secrets only the names count. */
export function planPending(app: App, running: Revision | undefined): ConditionDraft[] {
  const changed = running && app.spec.state === "Started" ? listChangedVariables(running.spec.env, app.spec.env) : [];
  if (changed.length > 0)
    return [
      {
        type: RESTART_PENDING,
        status: "True",
        reason: "EnvironmentChanged",
        message: `${nameSome(changed)}: the instances have other variables until spec.restart is set to another value, which is cf restart`,
      },
    ];
  const wasPending = app.status?.conditions?.some(({ type, status }) => type === RESTART_PENDING && status === "True");
  return wasPending ? [{ type: RESTART_PENDING, status: "False", reason: "UpToDate", message: "" }] : [];
}

function listChangedVariables(before: readonly EnvVar[], after: readonly EnvVar[]): string[] {
  const [old, now] = [valuesOf(before), valuesOf(after)];
  const names = new Set([...old.keys(), ...now.keys()]);
  return [...names].filter((name) => old.get(name) !== now.get(name)).sort();
}

/** By name; a variable from a Secret has no value here. */
function valuesOf(env: readonly EnvVar[]): Map<string, string> {
  return new Map(env.map(({ name, value, valueFrom }) => [name, valueFrom ? "\0" : (value ?? "")]));
}

function nameSome(names: readonly string[]): string {
  return [...names.slice(0, MAX_NAMED), ...(names.length > MAX_NAMED ? ["…"] : [])].join(", ");
}

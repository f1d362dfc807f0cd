// Lines that the API writes into an app's log, worded as in CF: `cf logs` shows them as [API/0].
import { App } from "../../../crds/app/app.ts";
import { Build } from "../../../crds/build/build.ts";
import { Droplet } from "../../../crds/droplet/droplet.ts";
import { Package } from "../../../crds/package/package.ts";
import { Process } from "../../../crds/process/process.ts";
import type { KubeObject } from "../../../kube/api/object.ts";
import type { ObjectFinder } from "../../cache/cluster-cache.ts";
import { appOf } from "./owner-app.ts";
import type { ResourceRef } from "../../../kube/api/resource-ref.ts";

/** A write that the API server accepted. `object` is the created object, or its state before a patch or deletion. */
export interface Write {
  verb: "create" | "patch" | "move" | "delete";
  ref: ResourceRef;
  object: KubeObject;
  /** `spec` of the merge patch. */
  changes?: Record<string, unknown>;
  /** The object in the namespace that it was moved to. */
  moved?: KubeObject;
}

/** The log line for a write; undefined where CF writes none. `app` is the app's GUID. Contains no values that may be secret. */
export function toAppLogLine({ verb, ref, object, changes = {} }: Write, app: string): string | undefined {
  return lines[`${verb} ${ref.kind}`]?.({ object, changes, app });
}

interface Subject {
  object: KubeObject;
  changes: Record<string, unknown>;
  app: string;
}

const lines: Record<string, (subject: Subject) => string | undefined> = {
  [`create ${App.kind}`]: ({ app }) => `Created app with guid ${app}`,
  [`patch ${App.kind}`]: appChange,
  [`delete ${App.kind}`]: ({ app }) => `Deleted app with guid ${app}`,
  [`create ${Process.kind}`]: (subject) => `Added process: "${typeOf(subject)}"`,
  [`patch ${Process.kind}`]: processChange,
  [`create ${Package.kind}`]: ({ app }) => `Adding app package for app with guid ${app}`,
  [`patch ${Package.kind}`]: ({ changes, app }) =>
    "content" in changes ? `Uploading app package for app with guid ${app}` : undefined,
  [`delete ${Package.kind}`]: ({ app }) => `Deleting app package for app with guid ${app}`,
  [`create ${Build.kind}`]: ({ app }) => `Creating build for app with guid ${app}`,
  [`delete ${Droplet.kind}`]: ({ app }) => `Deleting droplet for app with guid ${app}`,
};

function appChange({ object, changes, app }: Subject): string {
  if (changes["state"] === "Stopped") return `Stopping app with guid ${app}`;
  if (changes["state"] !== "Started") return `Updated app with guid ${app}`;
  const isRestart = (object as App).spec.state === "Started";
  return isRestart ? `Restarted app with guid ${app}` : `Starting app with guid ${app}`;
}

const SIZES = ["instances", "memoryMB", "diskMB", "logRateLimitBytesPerSecond"];

function processChange(subject: Subject): string {
  const process = `process: "${typeOf(subject)}"`;
  const [index] = Object.keys((subject.changes["restartInstances"] ?? {}) as object);
  if (index !== undefined) return `Terminating ${process}, index: "${index}"`;
  const keys = Object.keys(subject.changes);
  return keys.length > 0 && keys.every((key) => SIZES.includes(key)) ? `Scaling ${process}` : `Updating ${process}`;
}

function typeOf({ object }: Subject): string {
  return (object as Process).spec.type;
}

/** The app whose log a write belongs to: the object itself, or the app that owns it. */
export function appOfWrite(cache: ObjectFinder, { ref, object }: Pick<Write, "ref" | "object">): App | undefined {
  if (ref.kind === App.kind) return object as App;
  const isChild = "appRef" in ((object as { spec?: object }).spec ?? {});
  return isChild ? appOf(cache, object as Parameters<typeof appOf>[1]) : undefined;
}

// Rejects a start that no runner class can run, before `cf` waits for it. Pure.
import type { BackendClass } from "../../../crds/backend-class/backend-class.ts";
import { findClass, isClassProblem } from "../../../crds/backend-class/find-class.ts";
import type { Droplet } from "../../../crds/droplet/droplet.ts";
import { toRunnable } from "../../../crds/droplet/rules.ts";
import type { Process } from "../../../crds/process/process.ts";

/** Why a process has no runner for this droplet. Undefined while no runner class exists: the App's Ready condition reports that case. */
export function findRunnerProblem(
  processes: readonly Process[],
  droplet: Droplet,
  classes: readonly BackendClass[],
): string | undefined {
  if (!classes.some(({ spec }) => spec.role === "runner")) return undefined;
  for (const { spec } of processes) {
    const requires = { capability: "dropletKinds", word: toRunnable(droplet).kind };
    const found = findClass(classes, { role: "runner", className: spec.runner, requires });
    if (isClassProblem(found))
      return `Process "${spec.type}" cannot start: ${found.message}${imagesHint(classes, droplet)}`;
  }
  return undefined;
}

/** For those who pushed an image, or uploaded a droplet that is one, to a platform, such as a laptop, that runs none. */
function imagesHint(classes: readonly BackendClass[], { spec: { kind } }: Droplet): string {
  const runsHostDropletsOnly = classes
    .filter(({ spec }) => spec.role === "runner")
    .every(({ status }) => status?.capabilities?.["dropletKinds"] === "host");
  if (!runsHostDropletsOnly || kind === "host") return "";
  const flag = kind === "docker" ? ", without --docker-image" : "";
  return `. No runner here runs images: push the app's source instead${flag}`;
}

// Use of a process, as its usage events show it. Pure.
import type { App } from "../app/app.ts";
import type { Droplet } from "../droplet/droplet.ts";
import { guidOf } from "../guid.ts";
import { hideUserinfo } from "../hide-userinfo.ts";
import { displayNameOf } from "../object-names.ts";
import { defaultInstances } from "../process/defaults.ts";
import type { Process } from "../process/process.ts";
import type { ProcessUsage } from "./rules.ts";
import { MAX_BUILDPACK_NAME } from "./usage-log.ts";

/** A process, its app, and the droplet that the app runs. */
interface AppProcess {
  process: Process;
  app: App;
  droplet: Droplet | undefined;
}

export function toProcessUsage(
  { process, app, droplet }: AppProcess,
  place: Pick<ProcessUsage, "space" | "orgGUID">,
): ProcessUsage {
  const { type, instances = defaultInstances(type), memoryMB } = process.spec;
  return {
    ...place,
    ...toUsageBuildpack(droplet?.spec.buildpacks[0]?.name),
    app: { guid: guidOf(app), name: displayNameOf(app) },
    process: { guid: processGUID(process, app), type },
    isStarted: app.spec.state === "Started",
    instances,
    memoryMB,
    packageState: droplet ? "STAGED" : "PENDING",
  };
}

/** The web process has its app's GUID. */
export function processGUID(process: Process, app: App): string {
  return process.spec.type === "web" && guidOf(process) === process.metadata.uid ? guidOf(app) : guidOf(process);
}

/** The name may be a URL with a password. A UsageLog refuses longer names, and with them all events of the same write. */
export function toUsageBuildpack(name: string | undefined): Pick<ProcessUsage, "buildpack"> {
  return name === undefined ? {} : { buildpack: { name: hideUserinfo(name).slice(0, MAX_BUILDPACK_NAME) } };
}

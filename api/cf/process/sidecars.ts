// The sidecars of an app as CF shows them: a user's are in App.spec, a buildpack's in the current droplet.
import { App } from "../../../crds/app/app.ts";
import { Droplet } from "../../../crds/droplet/droplet.ts";
import type { Process } from "../../../crds/process/process.ts";
import { dropletSidecarGUID, userSidecarGUID } from "../../../crds/sidecar-guids.ts";
import { sidecarMemoryMB, type Sidecar } from "../../../crds/sidecar.ts";
import type { Session } from "../../access/session.ts";
import type { ClusterCache } from "../../cache/cluster-cache.ts";
import { createdAt, updatedAt } from "../../cache/object-times.ts";
import { unprocessable } from "../../http/errors.ts";
import { toTime } from "../../../kube/api/times.ts";
import { currentDroplet } from "../app/current-droplet.ts";

export interface AppSidecar extends Sidecar {
  guid: string;
  origin: "user" | "buildpack";
  createdAt: string;
  updatedAt: string;
}

type UserSidecar = NonNullable<App["spec"]["sidecars"]>[number];

/** All sidecars of an app, oldest first. */
export function sidecarsOf(cache: ClusterCache, app: App): AppSidecar[] {
  const droplet = currentDroplet(cache, app);
  const own = (app.spec.sidecars ?? []).map((sidecar): AppSidecar => {
    const guid = userSidecarGUID(app, sidecar);
    return { ...sidecar, guid, origin: "user", createdAt: madeAt(guid, app), updatedAt: updatedAt(app) };
  });
  const names = new Set(own.map(({ name }) => name));
  const fromBuildpacks = (droplet?.spec.sidecars ?? [])
    .filter(({ name }) => !names.has(name))
    .map((sidecar): AppSidecar => {
      const times = { createdAt: createdAt(droplet as Droplet), updatedAt: updatedAt(droplet as Droplet) };
      return { ...sidecar, guid: dropletSidecarGUID(droplet as Droplet, sidecar.name), origin: "buildpack", ...times };
    });
  return [...own, ...fromBuildpacks].sort((one, other) =>
    `${one.createdAt} ${one.guid}` < `${other.createdAt} ${other.guid}` ? -1 : 1,
  );
}

/** The time in a UUIDv7; any other GUID is the app's from the beginning. */
function madeAt(guid: string, app: App): string {
  if (guid[14] !== "7") return createdAt(app);
  return toTime(Number.parseInt(guid.replaceAll("-", "").slice(0, 12), 16));
}

/** The sidecar with this GUID and its app, if the caller can see the app. */
export function findSidecar(session: Session, guid: string): { app: App; sidecar: AppSidecar } | undefined {
  const { cache } = session;
  const ofDroplets = [...cache.store(Droplet).byIndex("sidecar", guid)].flatMap(
    ({ metadata, spec }) =>
      cache.store(App).find({ namespace: metadata.namespace ?? "", name: spec.appRef.name }) ?? [],
  );
  for (const app of [...cache.store(App).byIndex("sidecar", guid), ...ofDroplets]) {
    const sidecar = session.canSee(App, app) && sidecarsOf(cache, app).find((one) => one.guid === guid);
    if (sidecar) return { app, sidecar };
  }
  return undefined;
}

/** Fields of a sidecar that the user gives. */
export interface SidecarInput {
  name: string;
  command: string;
  processTypes: string[];
  memoryMB?: number | null | undefined;
}

/** `spec.sidecars` with one more; the spec's other sidecars stay as they are. */
export function withSidecar(app: App, input: SidecarInput, guid: string): UserSidecar[] {
  const { name, command, processTypes, memoryMB } = input;
  const made = {
    guid,
    name,
    command,
    processTypes: [...new Set(processTypes)],
    ...(typeof memoryMB === "number" && { memoryMB }),
  };
  const before = app.spec.sidecars ?? [];
  const at = before.findIndex((one) => userSidecarGUID(app, one) === guid);
  return at < 0 ? [...before, made] : before.with(at, made);
}

/** @throws CFError 422 when a process of the app would have no memory left for its own program */
export function requireRoom(
  processes: readonly Process[],
  sidecars: readonly Sidecar[],
  changed: Pick<Sidecar, "processTypes">,
): void {
  const tight = processes
    .filter(({ spec }) => changed.processTypes.includes(spec.type))
    .find(({ spec }) => !leavesRoom(sidecars, spec.type, spec.memoryMB));
  if (tight)
    throw unprocessable(
      `The memory allocation defined is too large to run with the dependent "${tight.spec.type}" process`,
    );
}

/** Whether the sidecars of a process type take less than this memory. */
export function leavesRoom(sidecars: readonly Sidecar[], type: string, memoryMB: number): boolean {
  const own = sidecars.filter(({ processTypes }) => processTypes.includes(type));
  return own.length === 0 || sidecarMemoryMB(own) < memoryMB;
}

// Writes one sidecar into its app's spec, for the endpoints and for manifests.
import { App } from "../../../crds/app/app.ts";
import { newGUID } from "../../../crds/guid.ts";
import { MAX_SIDECARS } from "../../../crds/sidecar.ts";
import type { Session } from "../../access/session.ts";
import { unprocessable } from "../../http/errors.ts";
import { processesOf } from "./processes.ts";
import { requireRoom, sidecarsOf, withSidecar, type SidecarInput } from "./sidecars.ts";

/**
 * Adds the sidecar, or changes the one with this GUID. Nothing is written when nothing changes.
 * @throws CFError 422 when the name is taken, or the sidecars leave no memory to a process
 */
export async function saveSidecar(
  session: Session,
  app: App,
  input: SidecarInput,
  guid: string = newGUID(),
): Promise<App> {
  const others = sidecarsOf(session.cache, app).filter((one) => one.guid !== guid);
  if (others.some(({ name }) => name === input.name))
    throw unprocessable(`Sidecar with name '${input.name}' already exists for given app`);
  if (others.length >= MAX_SIDECARS) throw unprocessable(`An app has at most ${MAX_SIDECARS} sidecars`);
  const { memoryMB, ...rest } = input;
  const next = { ...rest, ...(typeof memoryMB === "number" && { memoryMB }) };
  requireRoom(processesOf(session, app), [...others, next], next);
  return await session.patchWithRetry(App, app, (current) => {
    const sidecars = withSidecar(current, input, guid);
    const isSame = JSON.stringify(sidecars) === JSON.stringify(current.spec.sidecars);
    return isSame ? undefined : { spec: { sidecars } };
  });
}

// The API servers of a world: embedded ones, or real kube-apiservers with their controller managers where CUPOLA_WORLD is `kube-apiserver` (`npm run test:clusters`).
import { cpSync, rmSync } from "node:fs";
import { join } from "node:path";
import { startControlPlane } from "../cluster/control-plane.ts";
import type { TokenUser } from "../cluster/control-plane-commands.ts";
import { startEmbedded, type EmbeddedServer } from "../conformance/embedded-server.ts";

export interface WorldServer extends EmbeddedServer {
  /** As ControlPlane.restartControllers. */
  restartControllers?(): Promise<void>;
}

/** Whether the servers of worlds have Kubernetes' own controllers. */
export const isRealWorld = process.env["CUPOLA_WORLD"] === "kube-apiserver";

export function startWorldServer(users: readonly TokenUser[]): Promise<WorldServer> {
  return isRealWorld ? startReal(users) : startEmbedded({ users });
}

/** Autoscalers are looked at every second, so that one acts ten times within a test. */
const CONTROLLER_FLAGS = ["--horizontal-pod-autoscaler-sync-period=1s"];

async function startReal(users: readonly TokenUser[]): Promise<WorldServer> {
  const plane = await startControlPlane({ users: [...users], controllerManagerFlags: CONTROLLER_FLAGS });
  const [now, copy] = [join(plane.dir, "etcd"), join(plane.dir, "etcd-copy")];
  const replace = (from: string, to: string): Promise<void> =>
    plane.whileStopped(() => {
      rmSync(to, { recursive: true, force: true });
      cpSync(from, to, { recursive: true });
      return Promise.resolve();
    });
  return { ...plane, snapshot: () => replace(now, copy), rewind: () => replace(copy, now) };
}

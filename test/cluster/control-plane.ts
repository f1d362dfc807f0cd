// A real Kubernetes control plane on loopback for tests: etcd, kube-apiserver and kube-controller-manager, without a node.
import { mkdtempSync, rmSync } from "node:fs";
import { request } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { issueCertificate, type KeyPair, type Subject } from "../../kube/server/pki.ts";
import { provideBinaries, type Binaries } from "./binaries.ts";
import {
  adminToken,
  controlPlaneCommand,
  controlPlaneUrl,
  writeControlPlaneFiles,
  type ControlPlaneComponent,
  type ControlPlaneOptions,
  type ControlPlanePlan,
} from "./control-plane-commands.ts";
import { freePort } from "./free-port.ts";
import { startGuarded, type GuardedProcess } from "./guarded-process.ts";

export interface ControlPlane {
  url: string;
  /** PEM of the authority that signed the server's certificate, and signs the clients'. */
  ca: string;
  /** Path of a kubeconfig whose user is in system:masters. */
  kubeconfig: string;
  adminToken: string;
  kubectl: string;
  /** Everything it keeps on disk; removed by stop(). */
  dir: string;
  /** A client certificate that this API server accepts. */
  issueClient(subject: Subject): Promise<KeyPair>;
  /** SIGKILL to one of its programs, and after `downMs` a new one on the same data. Resolves when kube-apiserver is ready again. */
  restart(part: ControlPlaneComponent, downMs?: number): Promise<void>;
  /** Ends all of its programs, and starts them again after `work`. Resolves when kube-apiserver is ready. */
  whileStopped(work: () => Promise<void>): Promise<void>;
  /** To be called after kinds were installed: a running garbage collector learns of new kinds every 30 s only, a new one knows them. */
  restartControllers(): Promise<void>;
  stop(): Promise<void>;
}

const readyDeadlineMs = 90_000;

/** Starts a control plane and waits until it is ready. Throws with the end of the program's log when one does not come up. */
export async function startControlPlane(options: ControlPlaneOptions = {}): Promise<ControlPlane> {
  const binaries = await provideBinaries(options.log);
  for (let attempt = 1; ; attempt++) {
    try {
      return await startOnce(binaries, options);
    } catch (error) {
      // Only the port can be a matter of luck.
      if (attempt === 3 || !String(error).includes("address already in use")) throw error;
    }
  }
}

async function startOnce(binaries: Binaries, options: ControlPlaneOptions): Promise<ControlPlane> {
  const dir = mkdtempSync(join(tmpdir(), "cupola-kube-"));
  const plan: ControlPlanePlan = { dir, address: "127.0.0.1", port: await freePort(), binaries, options };
  const running = new Map<ControlPlaneComponent, GuardedProcess>();
  const start = (part: ControlPlaneComponent): unknown =>
    running.set(
      part,
      startGuarded(controlPlaneCommand(part, plan), {
        name: part,
        logFile: join(plan.dir, `${part}.log`),
        ...(part === "etcd" && { onOrphan: `rm -rf '${plan.dir}'` }),
      }),
    );
  const stop = async () => {
    await Promise.all([...running.values()].map((child) => child.kill()));
    rmSync(plan.dir, { recursive: true, force: true, maxRetries: 5 });
  };
  try {
    const authority = await writeControlPlaneFiles(plan);
    const url = controlPlaneUrl(plan);
    start("etcd");
    start("kube-apiserver");
    await untilReady(url, authority.cert, [...running.values()]);
    if (options.controllers !== false) start("kube-controller-manager");
    const restart: ControlPlane["restart"] = async (part, downMs = 0) => {
      await running.get(part)?.kill();
      await delay(downMs);
      start(part);
      await untilReady(url, authority.cert, [...running.values()]);
    };
    const parts = [...running.keys()];
    return {
      url,
      adminToken,
      async whileStopped(work) {
        await Promise.all([...running.values()].map((child) => child.kill()));
        await work();
        running.clear();
        for (const part of parts) {
          // kube-controller-manager waits no longer than 10 s for the API server.
          if (part === "kube-controller-manager") await untilReady(url, authority.cert, [...running.values()]);
          start(part);
        }
        await untilReady(url, authority.cert, [...running.values()]);
      },
      stop,
      ca: authority.cert,
      kubeconfig: join(plan.dir, "kubeconfig"),
      kubectl: binaries.kubectl,
      dir: plan.dir,
      issueClient: (subject) => issueCertificate(authority, subject),
      restart,
      restartControllers: () => restart("kube-controller-manager"),
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Resolves when kube-apiserver is ready. Throws with the end of a log when one of `children` stops, or after the deadline. */
export async function untilReady(
  url: string,
  ca: string,
  children: Pick<GuardedProcess, "name" | "running" | "log">[],
): Promise<void> {
  const deadline = Date.now() + readyDeadlineMs;
  while (!(await answersOk(`${url}/readyz`, ca))) {
    const dead = children.find((child) => !child.running());
    if (dead) throw new Error(`${dead.name} stopped by itself:\n${dead.log()}`);
    if (Date.now() > deadline)
      throw new Error(`kube-apiserver was not ready within ${readyDeadlineMs / 1000} s:\n${children.at(-1)!.log()}`);
    await delay(100);
  }
}

function answersOk(url: string, ca: string): Promise<boolean> {
  return new Promise((resolve) => {
    const call = request(
      url,
      { ca, agent: false, timeout: 5000, headers: { authorization: `Bearer ${adminToken}` } },
      (response) => {
        response.resume();
        resolve(response.statusCode === 200);
      },
    );
    call
      .on("timeout", () => call.destroy())
      .on("error", () => resolve(false))
      .end();
  });
}

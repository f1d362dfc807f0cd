// Another process of the platform on the stage's cluster: a replica that a journey may stop, kill, or put behind a faulty line.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { parse } from "yaml";
import { kubeconfigText } from "../../../kube/client/kubeconfig-text.ts";
import { tokenOf } from "./api.ts";
import type { TestPlatform } from "./test-platform.ts";

const CUPOLA = join(import.meta.dirname, "..", "..", "..", "platform", "cupola.ts");
const GUARD = join(import.meta.dirname, "die-with-parent.ts");

export interface ReplicaProcess {
  url: string;
  port: number;
  /** As Kubernetes ends a pod. Resolves with what it ended with. */
  stop(): Promise<number | null>;
  /** Resolves when it is gone. */
  kill(): Promise<void>;
  /** The end of what it logged. */
  log(): string;
}

export interface ReplicaProcessOptions {
  /** `api` unless said. */
  operations?: string;
  /** The API server, when it is reached by another way than the stage's kubeconfig says. */
  server?: { url: string; ca: string };
  graceSeconds?: number;
  /** Address in links; for replicas behind one balancer. */
  publicURL?: string;
}

let count = 0;

/** Where the stage's Kubernetes API is. */
export function serverOf(testPlatform: TestPlatform): { url: string; ca: string } {
  const { clusters } = parse(readFileSync(testPlatform.kubeconfig, "utf8")) as {
    clusters: { cluster: { server: string; "certificate-authority-data": string } }[];
  };
  const [first] = clusters;
  if (!first) throw new Error("the kubeconfig has no cluster");
  return {
    url: first.cluster.server,
    ca: Buffer.from(first.cluster["certificate-authority-data"], "base64").toString(),
  };
}

/** Starts it, and waits until it serves. @throws Error with what it said when it does not */
export async function startReplica(
  testPlatform: TestPlatform,
  { operations = "api", server = serverOf(testPlatform), graceSeconds = 0, publicURL }: ReplicaProcessOptions = {},
): Promise<ReplicaProcess> {
  const kubeconfig = join(testPlatform.home, `replica-${process.pid}-${++count}`);
  writeFileSync(
    kubeconfig,
    kubeconfigText({
      server: server.url,
      ca: server.ca,
      users: [{ name: "admin", token: tokenOf(testPlatform, "admin") }],
    }),
    { mode: 0o600 },
  );
  const args = [
    `--operation=${operations}`,
    "--kubeconfig",
    kubeconfig,
    "--port",
    "0",
    "--data",
    join(testPlatform.home, "data"),
    "--grace",
    String(graceSeconds),
    ...(publicURL ? ["--public-url", publicURL] : []),
  ];
  const child = spawn(process.execPath, ["--import", GUARD, CUPOLA, ...args], { stdio: ["pipe", "pipe", "pipe"] });
  let output = "";
  child.stderr.setEncoding("utf8").on("data", (chunk: string) => (output = (output + chunk).slice(-8000)));
  const ended = once(child, "exit") as Promise<[number | null]>;
  const line = await Promise.race([once(createInterface(child.stdout), "line"), ended.then(() => undefined)]);
  if (!line) throw new Error(`the replica ended: ${output}`);
  const { url } = JSON.parse(String(line[0])) as { url: string };
  return {
    url,
    port: Number(new URL(url).port),
    log: () => output,
    async stop() {
      child.kill("SIGTERM");
      const late = setTimeout(() => child.kill("SIGKILL"), 30_000);
      const [code] = await ended;
      clearTimeout(late);
      return code;
    },
    async kill() {
      child.kill("SIGKILL");
      await ended;
    },
  };
}

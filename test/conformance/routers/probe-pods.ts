// Pods of apps for the tests of routers and networks: Node from this machine, on the node's base image, with the stable labels of an LRP.
import { existsSync } from "node:fs";
import type { LRP } from "../../../crds/lrp/lrp.ts";
import { LABELS } from "../../../crds/labels.ts";
import { BASE_IMAGE } from "../../cluster/node/settings.ts";

export const APP_PORT = 8080;

/** Answers with its name and the path; `/slow` after 300 ms. An upgraded connection gets back what it sends. */
const HTTP1 = `
const server = require("node:http").createServer((request, response) =>
  setTimeout(() => response.end(JSON.stringify({ name: process.env.NAME, path: request.url })), request.url === "/slow" ? 300 : 0));
server.on("upgrade", (request, socket, head) => {
  socket.write("HTTP/1.1 101 Switching Protocols\\r\\nUpgrade: websocket\\r\\nConnection: Upgrade\\r\\n\\r\\n");
  if (head.length > 0) socket.write(head);
  socket.pipe(socket);
});
server.listen(${APP_PORT});
process.on("SIGTERM", () => server.close(() => process.exit(0)));`;

/** Speaks HTTP/2 without TLS and nothing else. */
const HTTP2 = `
require("node:http2").createServer((request, response) =>
  response.end(JSON.stringify({ name: process.env.NAME, path: request.url, version: request.httpVersion }))).listen(${APP_PORT});`;

export interface ProbeApp {
  name: string;
  /** Gives namespace, app and process. */
  lrp: LRP;
  replicas?: number;
  isHTTP2?: boolean;
  /** Revision of the process; only in a label. */
  revision?: string;
}

/** A Deployment as a runner would make it. `name` is what the app answers. */
export function probeDeployment({ name, lrp, replicas = 1, isHTTP2 = false, revision = "1" }: ProbeApp): object {
  const labels = { ...stableLabels(lrp), [LABELS.revision]: revision, probe: name };
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name, namespace: lrp.metadata.namespace },
    spec: {
      replicas,
      selector: { matchLabels: { probe: name } },
      strategy: { rollingUpdate: { maxUnavailable: 0, maxSurge: 1 } },
      template: { metadata: { labels }, spec: nodePodSpec(name, isHTTP2 ? HTTP2 : HTTP1) },
    },
  };
}

/** The labels of an app's pods that selectors may use. */
export function stableLabels({ spec, metadata: { labels = {} } }: LRP): Record<string, string> {
  return {
    [LABELS.app]: spec.app.guid,
    [LABELS.processType]: spec.processType,
    [LABELS.sourceType]: "APP",
    [LABELS.space]: labels[LABELS.space] ?? "",
  };
}

/** A pod that waits for `kubectl exec`. */
export function idlePod(name: string, namespace: string, labels: Record<string, string> = {}): object {
  const containers = [{ name: "main", image: BASE_IMAGE, command: ["sleep", "2147483647"] }];
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, namespace, labels },
    spec: { terminationGracePeriodSeconds: 0, automountServiceAccountToken: false, containers },
  };
}

function nodePodSpec(name: string, script: string): object {
  const libraries = ["/lib", "/lib64", "/usr/lib"].filter((path) => existsSync(path));
  const mounts = [...libraries, process.execPath].map((path, at) => ({ name: `host-${at}`, path }));
  return {
    terminationGracePeriodSeconds: 10,
    automountServiceAccountToken: false,
    volumes: mounts.map(({ name: volume, path }) => ({ name: volume, hostPath: { path } })),
    containers: [
      {
        name: "app",
        image: BASE_IMAGE,
        command: [process.execPath, "-e", script],
        env: [{ name: "NAME", value: name }],
        ports: [{ containerPort: APP_PORT }],
        readinessProbe: { tcpSocket: { port: APP_PORT }, periodSeconds: 1 },
        lifecycle: { preStop: { sleep: { seconds: 3 } } },
        volumeMounts: mounts.map(({ name: volume, path }) => ({ name: volume, mountPath: path, readOnly: true })),
      },
    ],
  };
}

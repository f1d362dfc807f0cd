// `npm run cluster`: a real control plane to try things on, until Ctrl-C; with `--node` a complete cluster that runs pods.
import { parseArgs } from "node:util";
import { startControlPlane } from "./control-plane.ts";
import { startNode } from "./node/node.ts";

const { values } = parseArgs({
  options: { node: { type: "boolean", default: false }, nodes: { type: "string", default: "1" } },
});
if (values.nodes !== "1" && values.nodes !== "2") throw new Error("--nodes takes 1 or 2");

const started = Date.now();
const cluster = values.node ? await startComplete(values.nodes === "2" ? 2 : 1) : await startBare();
console.log(`
Ctrl-C stops it and removes ${cluster.dir}`);

const keepAlive = setInterval(() => undefined, 60_000);
for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.once(signal, () => {
    clearInterval(keepAlive);
    cluster.stop().then(
      () => console.log("stopped"),
      (error: unknown) => {
        console.error(error);
        process.exitCode = 1;
      },
    );
  });
}

async function startBare() {
  const plane = await startControlPlane();
  console.log(`Kubernetes at ${plane.url}, ready in ${seconds()} s (API server and controllers; no node, so pods stay Pending)

  export KUBECONFIG=${plane.kubeconfig}
  ${plane.kubectl} get namespaces`);
  return plane;
}

async function startComplete(nodes: 1 | 2) {
  const node = await startNode({ nodes });
  const { host, username, password } = node.registry;
  console.log(`Kubernetes at ${node.url}, ready in ${seconds()} s: ${node.nodes.map(({ name, address }) => `${name} at ${address}`).join(", ")}
Registry at http://${host} (user ${username}, password ${password}), for pods too. Pods reach this machine at ${node.hostAddress}.

  export KUBECONFIG=${node.kubeconfig}
  ${node.kubectl} run hello --image=cupola.test/busybox:1 --command -- sh -c 'while :; do date; sleep 1; done'
  ${node.kubectl} get pods --all-namespaces`);
  return node;
}

function seconds(): string {
  return ((Date.now() - started) / 1000).toFixed(1);
}

// `npm run cluster`: a real control plane to try things on, until Ctrl-C.
import { startControlPlane } from "./control-plane.ts";

const started = Date.now();
const plane = await startControlPlane();
console.log(`Kubernetes at ${plane.url}, ready in ${((Date.now() - started) / 1000).toFixed(1)} s (API server and controllers; no node, so pods stay Pending)

  export KUBECONFIG=${plane.kubeconfig}
  ${plane.kubectl} get namespaces

Ctrl-C stops it and removes ${plane.dir}`);

const keepAlive = setInterval(() => undefined, 60_000);
for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.once(signal, () => {
    clearInterval(keepAlive);
    plane.stop().then(
      () => console.log("stopped"),
      (error: unknown) => {
        console.error(error);
        process.exitCode = 1;
      },
    );
  });
}

// `npm run bench -- policy`: operator policy over 10,000 apps on a real control plane, then Gatekeeper v3 on the same one.
import { whyNoBinaries } from "../../cluster/binaries.ts";
import { startBenchCluster } from "../cluster/bench-cluster.ts";
import { told, type Figure } from "../figure.ts";
import { measureOurs } from "./cupola.ts";
import { measureGatekeeper } from "./gatekeeper.ts";
import { makePolicyApps } from "./policy-apps.ts";

export async function measurePolicy(): Promise<Figure[]> {
  const plane = await startBenchCluster();
  try {
    const apps = await makePolicyApps(plane);
    const ours = await measureOurs(plane, apps);
    told(ours.figures);
    const reason = whyNoBinaries(["gatekeeper"]);
    if (reason) process.stderr.write(`Gatekeeper is left out: ${reason}\n`);
    return [...ours.figures, ...(reason ? [] : await measureGatekeeper(plane, apps, ours))];
  } finally {
    await plane.stop();
  }
}

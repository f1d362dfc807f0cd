// The controllers of operator policy on a real kube-apiserver.
import { test } from "vitest";
import { whyNoControlPlane } from "../../cluster/binaries.ts";
import { startControlPlane } from "../../cluster/control-plane.ts";
import { policyControllerTests } from "./controllers-suite.ts";
import { startGateTests } from "./start-gate-suite.ts";

const reason = whyNoControlPlane();
if (reason) test.skip(`policy controllers on kube-apiserver: skipped, ${reason}`, () => undefined);
else {
  policyControllerTests({ name: "kube-apiserver", start: startControlPlane });
  startGateTests({ name: "kube-apiserver", start: startControlPlane });
}

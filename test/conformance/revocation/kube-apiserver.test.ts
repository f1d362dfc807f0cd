// A revoked namespace on a real kube-apiserver.
import { test } from "vitest";
import { whyNoControlPlane } from "../../cluster/binaries.ts";
import { startControlPlane } from "../../cluster/control-plane.ts";
import { revocationTests } from "./suite.ts";

const reason = whyNoControlPlane();
if (reason) test.skip(`a revoked namespace on kube-apiserver: skipped, ${reason}`, () => undefined);
else revocationTests({ name: "kube-apiserver", start: startControlPlane });

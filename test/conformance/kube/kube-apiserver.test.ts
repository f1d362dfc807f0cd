// The kube/ suite on a real kube-apiserver.
import { test } from "vitest";
import { whyNoControlPlane } from "../../cluster/binaries.ts";
import { startControlPlane } from "../../cluster/control-plane.ts";
import { controllerRuntimeTests } from "./suite.ts";

const reason = whyNoControlPlane();
if (reason) test.skip(`kube/ on kube-apiserver: skipped, ${reason}`, () => undefined);
else controllerRuntimeTests({ name: "kube-apiserver", start: startControlPlane });

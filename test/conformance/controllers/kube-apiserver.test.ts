// The controllers on a real kube-apiserver.
import { test } from "vitest";
import { whyNoControlPlane } from "../../cluster/binaries.ts";
import { startControlPlane } from "../../cluster/control-plane.ts";
import { controllerTests } from "./suite.ts";

const reason = whyNoControlPlane();
if (reason) test.skip(`controllers on kube-apiserver: skipped, ${reason}`, () => undefined);
else controllerTests({ name: "kube-apiserver", start: startControlPlane });

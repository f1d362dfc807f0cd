// The contract on a real kube-apiserver: the judge. A row is right when it passes here.
import { test } from "vitest";
import { whyNoControlPlane } from "../../cluster/binaries.ts";
import { startControlPlane } from "../../cluster/control-plane.ts";
import { kubernetesApiTests } from "./suite.ts";

const reason = whyNoControlPlane();
if (reason) test.skip(`kube-apiserver keeps the contract: skipped, ${reason}`, () => undefined);
else kubernetesApiTests({ name: "kube-apiserver", start: startControlPlane, gaps: {} });

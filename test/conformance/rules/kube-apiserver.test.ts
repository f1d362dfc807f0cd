// The rules that decide whether an object may exist or serve, on a real kube-apiserver.
import { test } from "vitest";
import { whyNoControlPlane } from "../../cluster/binaries.ts";
import { startControlPlane } from "../../cluster/control-plane.ts";
import { ruleTests } from "./suite.ts";

const reason = whyNoControlPlane();
if (reason) test.skip(`rules on kube-apiserver: skipped, ${reason}`, () => undefined);
else
  ruleTests({
    name: "kube-apiserver",
    start: (users) => startControlPlane({ users, apiserverFlags: ["--feature-gates=ImageVolume=true"] }),
  });

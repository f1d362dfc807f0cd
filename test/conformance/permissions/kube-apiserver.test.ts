// Rights on a real kube-apiserver.
import { test } from "vitest";
import { whyNoControlPlane } from "../../cluster/binaries.ts";
import { startControlPlane } from "../../cluster/control-plane.ts";
import { permissionTests } from "./suite.ts";

const reason = whyNoControlPlane();
if (reason) test.skip(`rights on kube-apiserver: skipped, ${reason}`, () => undefined);
else
  permissionTests({
    name: "kube-apiserver",
    start: (users) => startControlPlane({ users, apiserverFlags: ["--feature-gates=ImageVolume=true"] }),
  });

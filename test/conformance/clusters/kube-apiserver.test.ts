// Many clusters, each a real kube-apiserver.
import { test } from "vitest";
import { whyNoControlPlane } from "../../cluster/binaries.ts";
import { startControlPlane } from "../../cluster/control-plane.ts";
import { remoteChildrenTests } from "./remote-children.ts";

const reason = whyNoControlPlane();
if (reason) test.skip(`many clusters on kube-apiserver: skipped, ${reason}`, () => undefined);
else remoteChildrenTests("kube-apiservers", () => startControlPlane());

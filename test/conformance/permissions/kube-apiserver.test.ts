// Rights on a real kube-apiserver.
import { test } from "vitest";
import { whyNoControlPlane } from "../../cluster/binaries.ts";
import { startControlPlane } from "../../cluster/control-plane.ts";
import { rightsOn } from "./suite.ts";

const reason = whyNoControlPlane();
if (reason) test.skip(`rights on kube-apiserver: skipped, ${reason}`, () => undefined);
else rightsOn({ name: "kube-apiserver", start: (users) => startControlPlane({ users, apiserverFlags: ["--feature-gates=ImageVolume=true"] }) });

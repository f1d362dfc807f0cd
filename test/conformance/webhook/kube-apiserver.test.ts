// The webhook on a real kube-apiserver.
import { test } from "vitest";
import { whyNoControlPlane } from "../../cluster/binaries.ts";
import { startControlPlane } from "../../cluster/control-plane.ts";
import { webhookTests } from "./suite.ts";

const reason = whyNoControlPlane();
if (reason) test.skip(`the webhook on kube-apiserver: skipped, ${reason}`, () => undefined);
else webhookTests({ name: "kube-apiserver", start: startControlPlane });

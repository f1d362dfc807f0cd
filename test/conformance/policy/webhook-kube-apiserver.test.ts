// The webhook of operator policy on a real kube-apiserver.
import { test } from "vitest";
import { whyNoControlPlane } from "../../cluster/binaries.ts";
import { startControlPlane } from "../../cluster/control-plane.ts";
import { policyWebhookTests } from "./webhook-suite.ts";

const reason = whyNoControlPlane();
if (reason) test.skip(`the webhook of operator policy on kube-apiserver: skipped, ${reason}`, () => undefined);
else policyWebhookTests({ name: "kube-apiserver", start: startControlPlane });

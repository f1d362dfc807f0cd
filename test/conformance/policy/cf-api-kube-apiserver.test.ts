// Operator policy at the CF API on a real kube-apiserver.
import { describe } from "vitest";
import { whyNoControlPlane } from "../../cluster/binaries.ts";
import { judgeAtCFAPI } from "./cf-api-suite.ts";
import { startForCFAPI } from "./kube-apiserver-for-cf-api.ts";

const reason = whyNoControlPlane();

describe.skipIf(reason !== undefined)(`policy at the CF API${reason ? `: skipped, ${reason}` : ""}`, () => {
  judgeAtCFAPI(startForCFAPI);
});

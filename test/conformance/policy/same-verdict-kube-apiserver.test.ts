// The same verdict at every door, on a real kube-apiserver.
import { describe } from "vitest";
import { whyNoControlPlane } from "../../cluster/binaries.ts";
import { judgeAtEveryDoor } from "./same-verdict-suite.ts";
import { startForCFAPI } from "./kube-apiserver-for-cf-api.ts";

const reason = whyNoControlPlane();

describe.skipIf(reason !== undefined)(`one verdict at every door${reason ? `: skipped, ${reason}` : ""}`, () => {
  judgeAtEveryDoor(startForCFAPI);
});

// Operator policy at the CF API on a real kube-apiserver.
import { describe } from "vitest";
import { whyNoControlPlane } from "../../cluster/binaries.ts";
import { startControlPlane } from "../../cluster/control-plane.ts";
import { judgeAtCFAPI } from "./cf-api-suite.ts";

const reason = whyNoControlPlane();

describe.skipIf(reason !== undefined)(`policy at the CF API${reason ? `: skipped, ${reason}` : ""}`, () => {
  judgeAtCFAPI(async (tokens) => {
    // Its administrator is root here: `admin` is a person of this world.
    const users = [...tokens]
      .filter(([token]) => token !== "admin-token")
      .map(([token, { name, groups }]) => ({ token, user: name, groups }));
    const plane = await startControlPlane({ users });
    return {
      url: plane.url,
      ca: plane.ca,
      issueClient: (user) => plane.issueClient({ commonName: user }),
      stop: () => plane.stop(),
    };
  });
});

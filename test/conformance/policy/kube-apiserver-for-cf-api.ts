// A real kube-apiserver as the tests of the CF API start one.
import { startControlPlane } from "../../cluster/control-plane.ts";
import type { startApiHarness } from "../api/harness.ts";

type Start = NonNullable<Parameters<typeof startApiHarness>[0]>;

export const startForCFAPI: Start = async (tokens) => {
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
};

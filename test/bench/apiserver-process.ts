// Child process: the embedded API server alone.
import { startApiServer } from "../../local/apiserver/server.ts";
import { PLATFORM_GROUP } from "../../crds/platform-role.ts";
import { serveParent, childOptions } from "./child-process.ts";

export interface ApiServerProcessOptions {
  dir: string;
  tokens: { platform: string; admin: string; developer: string };
}

const { dir, tokens } = childOptions<ApiServerProcessOptions>();
const server = await startApiServer({
  dir,
  host: "127.0.0.1",
  port: 0,
  tokens: new Map([
    [tokens.platform, { name: "cupola", groups: [PLATFORM_GROUP] }],
    [tokens.admin, { name: "admin", groups: ["system:masters"] }],
    [tokens.developer, { name: "developer", groups: [] }],
  ]),
});
serveParent(
  {
    access: () => ({ server: server.url, ca: server.ca }),
    /** The version of the last write: every write makes a new one. */
    version: () => server.version(),
    /** Microseconds of processor time so far. */
    cpu: () => process.cpuUsage().user + process.cpuUsage().system,
  },
  () => server.stop(),
);

// Rights on the embedded API server.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startApiServer } from "../../../local/apiserver/server.ts";
import { rightsOn } from "./suite.ts";

rightsOn({
  name: "the embedded server",
  async start(users) {
    const dir = mkdtempSync(join(tmpdir(), "cupola-rights-kube-"));
    const tokens = new Map(users.map(({ token, user, groups }) => [token, { name: user, groups: [...groups, "system:authenticated"] }]));
    tokens.set("root-of-test", { name: "root", groups: ["system:masters", "system:authenticated"] });
    const server = await startApiServer({ dir, port: 0, host: "127.0.0.1", tokens });
    return {
      url: server.url,
      ca: server.ca,
      adminToken: "root-of-test",
      async stop() {
        await server.stop();
        rmSync(dir, { recursive: true, force: true });
      },
    };
  },
});

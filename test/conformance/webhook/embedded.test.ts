// The webhook on the embedded API server.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startApiServer } from "../../../local/apiserver/server.ts";
import { webhookOn } from "./suite.ts";

webhookOn({
  name: "the embedded server",
  async start() {
    const dir = mkdtempSync(join(tmpdir(), "embedded-"));
    const server = await startApiServer({ dir, port: 0, host: "127.0.0.1", tokens: new Map([["admin-token", { name: "admin", groups: ["system:masters", "system:authenticated"] }]]), onError: (error) => console.error(error) });
    return {
      url: server.url,
      ca: server.ca,
      adminToken: "admin-token",
      async stop() {
        await server.stop();
        rmSync(dir, { recursive: true, force: true });
      },
    };
  },
});

// Starts the embedded API server for the contract, in a folder of its own that goes with it.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startApiServer } from "../../../local/apiserver/server.ts";
import type { Server } from "./suite.ts";

export async function startEmbedded(): Promise<Server> {
  const dir = mkdtempSync(join(tmpdir(), "cupola-embedded-"));
  const adminToken = "admin-token";
  const server = await startApiServer({ dir, host: "127.0.0.1", port: 0, tokens: new Map([[adminToken, { name: "admin", uid: "admin", groups: ["system:masters"] }]]) });
  return {
    url: server.url, ca: server.ca, adminToken,
    issueClient: (subject) => server.issueClient(subject.commonName, subject.organizations ?? []),
    stop: async () => {
      await server.stop();
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

// Starts the embedded API server for a suite, in a folder of its own that goes with it: what `startControlPlane` is for the real one.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startApiServer } from "../../local/apiserver/server.ts";
import type { TokenUser } from "../cluster/control-plane-commands.ts";
import type { Server } from "./kubernetes/suite.ts";

/** `users` are known by their tokens, besides the administrator. */
export async function startEmbedded({ users = [] }: { users?: readonly TokenUser[] } = {}): Promise<Server> {
  const dir = mkdtempSync(join(tmpdir(), "cupola-embedded-"));
  const adminToken = "admin-token";
  const known: TokenUser[] = [{ token: adminToken, user: "admin", groups: ["system:masters"] }, ...users];
  const tokens = new Map(known.map(({ token, user, groups = [] }) => [token, { name: user, uid: user, groups }]));
  const server = await startApiServer({
    dir,
    host: "127.0.0.1",
    port: 0,
    tokens,
    onError: (error) => console.error(error),
  });
  return {
    url: server.url,
    ca: server.ca,
    adminToken,
    issueClient: (subject) => server.issueClient(subject.commonName, subject.organizations ?? []),
    stop: async () => {
      await server.stop();
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

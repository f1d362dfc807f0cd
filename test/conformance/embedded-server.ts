// Starts the embedded API server for a suite, in a folder of its own that goes with it: what `startControlPlane` is for the real one.
import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startApiServer } from "../../local/apiserver/server.ts";
import type { TokenUser } from "../cluster/control-plane-commands.ts";
import type { Server } from "./kubernetes/suite.ts";

export interface EmbeddedServer extends Server {
  /** Keeps a copy of all that is stored. The server is away for a moment. */
  snapshot(): Promise<void>;
  /** Goes back to the copy, as an etcd that was restored. */
  rewind(): Promise<void>;
}

/** `users` are known by their tokens, besides the administrator. */
export async function startEmbedded({ users = [] }: { users?: readonly TokenUser[] } = {}): Promise<EmbeddedServer> {
  const root = mkdtempSync(join(tmpdir(), "cupola-embedded-"));
  const [dir, copy] = [join(root, "now"), join(root, "copy")];
  const adminToken = "admin-token";
  const known: TokenUser[] = [{ token: adminToken, user: "admin", groups: ["system:masters"] }, ...users];
  const tokens = new Map(known.map(({ token, user, groups = [] }) => [token, { name: user, uid: user, groups }]));
  const start = (port: number): ReturnType<typeof startApiServer> =>
    startApiServer({ dir, host: "127.0.0.1", port, tokens, onError: (error) => console.error(error) });
  let server = await start(0);
  const whileAway = async (act: () => void): Promise<void> => {
    await server.stop();
    act();
    server = await start(server.port);
  };
  const replace = (from: string, to: string): void => {
    rmSync(to, { recursive: true, force: true });
    cpSync(from, to, { recursive: true });
  };
  return {
    url: server.url,
    ca: server.ca,
    adminToken,
    issueClient: (subject) => server.issueClient(subject.commonName, subject.organizations ?? []),
    snapshot: () => whileAway(() => replace(dir, copy)),
    rewind: () => whileAway(() => replace(copy, dir)),
    stop: async () => {
      await server.stop();
      rmSync(root, { recursive: true, force: true });
    },
  };
}

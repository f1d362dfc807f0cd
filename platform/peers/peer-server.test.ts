// Connections between replicas: each needs a token, TLS off loopback is verifiable, and requests get 503 before a handler is set.
import { networkInterfaces } from "node:os";
import { afterEach, describe, expect, test } from "vitest";
import { openPeerConnection } from "../../api/peers/peer-protocol.ts";
import type { Membership } from "../../kube/lease/membership.ts";
import { NotPermitted, NotSynced } from "../../kube/cache/errors.ts";
import { deriveAddressToken } from "./address-token.ts";
import { createPeerDirectory } from "./peer-directory.ts";
import { startPeerListener, type PeerServer } from "./peer-server.ts";

const outside = Object.values(networkInterfaces())
  .flatMap((all) => all ?? [])
  .find(({ family, internal }) => family === "IPv4" && !internal)?.address;
const tokenFor = (url: string): string => deriveAddressToken("secret", "replicas", url);
let server: PeerServer | undefined;
afterEach(async () => {
  await server?.close();
  server = undefined;
});

async function ask(given = tokenFor(server?.url ?? "")): Promise<unknown> {
  const { url = "", authority } = server ?? {};
  const wire = openPeerConnection({ identity: "a", url, ...(authority && { authority }) }, () => given);
  try {
    return await wire.post("/replicas/hello", {}, 2000);
  } finally {
    await wire.close();
  }
}

function serve(): void {
  server?.setHandler((_request, response) => void response.end(JSON.stringify({ identity: "a" })));
}

describe.each([["127.0.0.1", "http:"], ...(outside ? [[outside, "https:"]] : [])])("at %s", (address, protocol) => {
  test(`speaks ${protocol} with those who know the token`, async () => {
    server = await startPeerListener(address, tokenFor, (error) => expect.unreachable(String(error)));
    expect(new URL(server.url).protocol).toBe(protocol);
    await expect(ask()).rejects.toThrow("503");
    serve();
    expect(await ask()).toEqual({ identity: "a", marks: [] });
    await expect(ask("guess")).rejects.toThrow("401");
  });
});

test.each([new NotSynced("leases"), new NotPermitted("leases", "Forbidden")])(
  "who cannot be seen is not nobody: $name",
  async (error) => {
    server = await startPeerListener("127.0.0.1", tokenFor, (fault) => expect.unreachable(String(fault)));
    const membership: Pick<Membership, "identity" | "members"> = {
      identity: "a",
      members() {
        throw error;
      },
    };
    expect(createPeerDirectory(membership as Membership, server).findPeers()).toBeUndefined();
  },
);

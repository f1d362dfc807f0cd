// Connections by name: the address that was judged is the one that is used, whatever the name says next.
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, expect, test } from "vitest";
import { fetch } from "undici";
import { ADDRESS_FORBIDDEN, createGuardedAgent, OPEN_AGENT } from "./broker-agent.ts";

let server: Server;
let port: number;
beforeEach(async () => {
  server = createServer((_, response) => response.end("there")).listen(0, "127.0.0.1");
  await once(server, "listening");
  ({ port } = server.address() as AddressInfo);
});
afterEach(() => {
  server.closeAllConnections();
  server.close();
});

/** Result of a request when the name has these addresses, one set for each look-up. */
async function ask(lookUps: string[][], open: string): Promise<string | undefined> {
  const agent = createGuardedAgent({ mayConnect: (address) => address === open }, () =>
    Promise.resolve(lookUps.shift() ?? []),
  );
  try {
    const answer = await fetch(`http://broker.test:${port}/`, { dispatcher: agent });
    return await answer.text();
  } catch (error) {
    return ((error as Error).cause as { code?: string }).code;
  } finally {
    await agent.destroy();
  }
}

test.each<[string, string[][], string]>([
  ["an open address", [["127.0.0.1"]], "there"],
  ["an open one among others", [["10.0.0.1", "127.0.0.1"]], "there"],
  ["none that is open", [["10.0.0.1", "::1"]], ADDRESS_FORBIDDEN],
  ["an open one that is another at the next look-up", [["127.0.0.1"], ["10.0.0.1"]], "there"],
  ["another one that would be open at the next look-up", [["10.0.0.1"], ["127.0.0.1"]], ADDRESS_FORBIDDEN],
])("a name with %s", async (_, lookUps, outcome) => expect(await ask(lookUps, "127.0.0.1")).toBe(outcome));

test("a name below localhost is this machine, whatever the resolver knows", async () => {
  const answer = await fetch(`http://broker.apps.localhost:${port}/`, { dispatcher: OPEN_AGENT });
  expect(await answer.text()).toBe("there");
});

// A hello is sent again until the peer answers, and its caller knows when the answered one was sent.
import { pino } from "pino";
import { expect, test } from "vitest";
import { createPeerClient } from "./peer-client.ts";
import { createWriteHistory } from "./write-history.ts";

test("each attempt of a hello is announced to the caller before it is sent", async () => {
  const seen: string[] = [];
  const marks = [{ resource: "things.example.org", version: "7" }];
  const client = createPeerClient({
    peer: { identity: "b", url: "http://b" },
    self: { identity: "a", url: "http://a" },
    connection: {
      post: async () => {
        seen.push("sent");
        if (seen.length < 6) throw new Error("silent");
        return { identity: "b", marks };
      },
      close: async () => undefined,
    },
    history: createWriteHistory(),
    removePeer: async () => undefined,
    log: pino({ level: "silent" }),
  });
  expect(await client.hello(() => seen.push("announced"))).toEqual(marks);
  expect(seen).toEqual(["announced", "sent", "announced", "sent", "announced", "sent"]);
});

// The command of `cf ssh -L`: to what address, and how it copies.
import { spawn } from "node:child_process";
import { createServer, type AddressInfo } from "node:net";
import { once } from "node:events";
import { expect, test } from "vitest";
import { toForwardCommand } from "./forward-command.ts";

test.each([
  ["a; reboot", 80],
  ["$(id)", 80],
  ["host", 0],
  ["host", 65536],
  ["", 80],
])("%s:%s is no address", (host, port) => {
  expect(toForwardCommand(host, port)).toBeUndefined();
});

test("says that it is connected, copies both ways, and ends with the other side", async () => {
  const server = createServer((socket) => socket.once("data", (data) => socket.end(`got ${data.toString()}`)));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  try {
    const command = toForwardCommand("127.0.0.1", (server.address() as AddressInfo).port) ?? "";
    const child = spawn("/bin/sh", ["-c", command], { stdio: ["pipe", "pipe", "ignore"] });
    const output: Buffer[] = [];
    child.stdout.on("data", (chunk: Buffer) => output.push(chunk));
    child.stdin.write("hello");
    await once(child, "close");
    expect(Buffer.concat(output).toString()).toBe("\0got hello");
  } finally {
    server.close();
  }
});

// The command of `cf ssh -L`: to what address, and how it copies.
import { spawn } from "node:child_process";
import { createServer, type AddressInfo } from "node:net";
import { once } from "node:events";
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { toForwardCommand } from "./forward-command.ts";

test.each([
  ["a; reboot", 80],
  ["$(id)", 80],
  ["-e", 80],
  ["host", 0],
  ["host", 65536],
  ["", 80],
])("%s:%s is no address", (host, port) => {
  expect(toForwardCommand(host, port)).toBeUndefined();
});

/** A folder of programs as an image without bash has them; its nc connects as BusyBox's does. */
function withoutBash(programs: readonly string[]): string {
  const folder = mkdtempSync(join(tmpdir(), "cupola-forward-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  symlinkSync("/bin/sh", join(folder, "sh"));
  const connect = `const s = require("net").connect(process.argv[3], process.argv[2]); process.stdin.pipe(s); s.pipe(process.stdout); s.on("end", () => process.exit())`;
  if (programs.includes("nc"))
    writeFileSync(join(folder, "nc"), `#!${process.execPath}\n${connect}\n`, { mode: 0o755 });
  return folder;
}

async function forward(path: string | undefined): Promise<string> {
  const server = createServer((socket) => socket.once("data", (data) => socket.end(`got ${data.toString()}`)));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  try {
    const command = toForwardCommand("127.0.0.1", (server.address() as AddressInfo).port) ?? "";
    const env = path === undefined ? process.env : { PATH: path };
    const child = spawn("/bin/sh", ["-c", command], { stdio: ["pipe", "pipe", "ignore"], env });
    const output: Buffer[] = [];
    child.stdout.on("data", (chunk: Buffer) => output.push(chunk));
    child.stdin.on("error", () => undefined);
    child.stdin.write("hello");
    await once(child, "close");
    return Buffer.concat(output).toString();
  } finally {
    server.close();
  }
}

test.each([
  ["with bash", () => undefined],
  ["with nc alone", () => withoutBash(["nc"])],
])("says that it is connected, copies both ways, and ends with the other side: %s", async (_, path) => {
  expect(await forward(path())).toBe("\0got hello");
});

test("without bash and nc nothing says that it is connected", async () => {
  expect(await forward(withoutBash([]))).toBe("");
});

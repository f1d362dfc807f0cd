// Which ports a process and its children listen on.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { expect, test, vi } from "vitest";
import { findListeningPorts, parseListening } from "./listening-ports.ts";

test("the kernel's table: listening sockets of both families, in hexadecimal", () => {
  const table = `  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:0D80 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 4242 1 0000000000000000 100 0 0 10 0
   1: 0100007F:1F90 0100007F:D431 01 00000000:00000000 00:00000000 00000000  1000        0 4243 1 0000000000000000 20 4 0 10 -1
   2: 00000000000000000000000000000000:0BB8 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 00000000 1000 0 4244 1 0 100 0 0 10 0
`;
  expect(parseListening(table)).toEqual([
    { port: 3456, inode: "4242" },
    { port: 3000, inode: "4244" },
  ]);
});

test.skipIf(process.platform !== "linux")(
  "a child of the instance's shell is found, and no other process",
  async () => {
    const program = 'require("http").createServer().listen(0, function () { console.log(this.address().port) })';
    const shell = spawn("/bin/sh", ["-c", `"$NODE" -e '${program}'; true`], {
      detached: true,
      env: { NODE: process.execPath },
      stdio: ["ignore", "pipe", "inherit"],
    });
    try {
      const [line] = (await once(shell.stdout, "data")) as [Buffer];
      await vi.waitFor(async () => expect(await findListeningPorts(shell.pid ?? 0)).toEqual([Number(line.toString())]));
    } finally {
      process.kill(-(shell.pid ?? 0), "SIGKILL");
    }
  },
);

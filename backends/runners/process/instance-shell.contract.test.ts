// Programs beside an instance, with a launcher that needs no droplet.
import { text } from "node:stream/consumers";
import { expect, test, vi } from "vitest";
import { findProcess } from "../../host/process-table.ts";
import { openInstanceShell } from "./instance-shell.ts";
import type { RunnerContext } from "./runner-context.ts";

test.each([undefined, ""])("the command %j is a shell, and never the app's own program", async (command) => {
  const prepare = vi.fn<RunnerContext["launcher"]["prepare"]>(({ root, env, command: script = "echo app" }) =>
    Promise.resolve({ command: ["/bin/sh", "-c", script || "echo app"], env, cwd: root }),
  );
  const context = {
    instancesDir: "/nowhere",
    address: "127.0.0.1",
    launcher: { restore: () => Promise.resolve(), prepare, path: process.env.PATH ?? "" },
    spoiled: { restore: () => Promise.resolve() },
    resolveEnv: () => Promise.resolve({}),
  } as unknown as RunnerContext;
  const droplet = { kind: "host", content: { digest: "d" }, root: "/" };
  const spec = { processType: "web", memoryMB: 64, droplet, space: { guid: "s" } };
  const leader = { pid: process.pid, identity: (await findProcess(process.pid))?.identity ?? "" };
  const record = { process: leader, guid: "i", ports: [{ port: 8080, hostPort: 8080 }] };
  const shell = await openInstanceShell(context, { lrp: { spec }, record } as never, { index: 0, command });
  shell.stdin.end("echo from the shell");
  expect(await text(shell.stdout)).toBe("from the shell\n");
  await shell.end();
});

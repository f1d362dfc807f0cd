// A session of `cf ssh` in a pod, with programs of this machine in place of a container's: what it starts ends with it, whoever ends it.
import { existsSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterEach, expect, onTestFinished, test, vi } from "vitest";
import type { LRP } from "../../crds/lrp/lrp.ts";
import { KubeError } from "../../kube/client/errors.ts";
import { createClient } from "../../kube/client/create-client.ts";
import { startExecServer, type ExecServer } from "../../kube/testing/exec-server.ts";
import { findByEnvironment } from "../host/process-table.ts";
import { InstanceAway, type RemoteProcess } from "../remote-process.ts";
import { openInPod } from "./pod-shell.ts";

const PATIENCE = { timeout: 20_000 };
let server: ExecServer;
afterEach(() => server.close());

const lrp = {
  metadata: { namespace: "dev", name: "shop", uid: "l" },
  spec: { droplet: { kind: "docker" } },
  status: { instances: [{ index: 0, state: "Running", guid: "pod-uid" }] },
} as unknown as LRP;

async function open(
  command: string,
  { index = 0, shell = "/bin/sh", ...times }: { index?: number; shell?: string; startMs?: number; endMs?: number } = {},
): Promise<RemoteProcess> {
  server = await startExecServer({ programs: { "/bin/sh": shell } });
  const client = createClient({ server: server.url });
  const list = (): Promise<object> => Promise.resolve({ items: [{ metadata: { name: "shop-abc", uid: "pod-uid" } }] });
  return openInPod({ ...client, list: list as never }, times)({ lrp, index, command });
}

/** Processes with the mark of this session: others' tests run at the same time. */
async function marked(): Promise<number[]> {
  const command = new URL(server.requests[0]?.url ?? "", "http://server").searchParams.getAll("command");
  return findByEnvironment(`CUPOLA_SSH_SESSION=${command[3]}`);
}

test("a program gets its input, and its outputs and status come back", async () => {
  const { stdin, stdout, stderr, exited, end } = await open("cat; echo oops >&2; exit 5");
  stdin.end("hello");
  expect(await Promise.all([text(stdout), text(stderr!), exited])).toEqual(["hello", "oops\n", { code: 5 }]);
  await end();
});

test("a program that leaves another behind ends with it", async () => {
  const { stdout, exited } = await open("setsid sleep 1000 & echo started");
  expect(await Promise.all([text(stdout), exited])).toEqual(["started\n", { code: 0 }]);
  await vi.waitFor(async () => expect(await marked()).toEqual([]), PATIENCE);
});

test.each([
  ["its end", (remote: RemoteProcess) => remote.end()],
  ["a proxy that is killed", () => server.breakAll()],
])("%s ends all that a session has started, also what takes no hint", async (_what, end) => {
  const remote = await open(
    "trap '' HUP TERM; (trap '' HUP; exec setsid sleep 1000) & echo up; while :; do sleep 1; done",
  );
  await vi.waitFor(() => expect(remote.stdout.read()).not.toBeNull(), PATIENCE);
  expect((await marked()).length).toBeGreaterThan(0);
  await end(remote);
  await vi.waitFor(async () => expect(await marked()).toEqual([]), PATIENCE);
});

test("a keeper that a session has stopped holds no connection of the proxy", async () => {
  const remote = await open('kill -STOP "$(cat)"; echo stopped', { endMs: 1_000 });
  remote.stdin.end(String(server.pids[0]));
  expect(await text(remote.stdout)).toBe("stopped\n");
  await remote.end();
  await remote.gone;
  await vi.waitFor(() => expect(server.connections()).toBe(0), PATIENCE);
});

test("a program that starts after its time ends, too", async () => {
  const folder = await mkdtemp(join(tmpdir(), "pod-shell-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const [slow, up] = [join(folder, "slow-shell"), join(folder, "up")];
  const script = `#!/bin/sh\ncase "$*" in *${up}*) sleep 4 ;; esac\nexec /bin/sh "$@"\n`;
  await writeFile(slow, script, { mode: 0o755 });
  const command = `echo > ${up}; exec sleep 1000`;
  await expect(open(command, { shell: slow, startMs: 3_000, endMs: 3_000 })).rejects.toThrow(/did not start within/);
  await vi.waitFor(() => expect(existsSync(up)).toBe(true), PATIENCE);
  await vi.waitFor(async () => expect(await marked()).toEqual([]), PATIENCE);
  await vi.waitFor(() => expect(server.connections()).toBe(0), PATIENCE);
}, 60_000);

test("an image without a shell, and an instance that is not there, are said in words", async () => {
  await expect(open("id", { shell: "/no/such/shell" })).rejects.toThrow(/no \/bin\/sh/);
  await server.close();
  await expect(open("id", { index: 1 })).rejects.toThrow(InstanceAway);
});

test("a right that has not come yet is said in words", async () => {
  server = await startExecServer();
  const list = (): Promise<never> => Promise.reject(new KubeError({ code: 403, reason: "Forbidden" }));
  const client = { ...createClient({ server: server.url }), list };
  await expect(openInPod(client)({ lrp, index: 0, command: "id" })).rejects.toThrow(
    /not open shells in this space yet/,
  );
});

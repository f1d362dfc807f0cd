// `pods/exec` against a server that speaks its protocol: input, outputs, statuses, backpressure and refusals.
import { text } from "node:stream/consumers";
import { setTimeout } from "node:timers/promises";
import { afterEach, expect, test, vi } from "vitest";
import { startExecServer, type ExecServer } from "../testing/exec-server.ts";
import { createClient } from "./create-client.ts";
import { KubeError } from "./errors.ts";
import { execInPod, toEnd, type PodExec } from "./pod-exec.ts";

let server: ExecServer | undefined;
afterEach(() => server?.close());

async function exec(command: readonly string[], pod = "web-0", tty = false): Promise<PodExec> {
  server ??= await startExecServer();
  const client = createClient({ server: server.url, auth: { kind: "token", token: "the-token" } });
  return execInPod(client, { namespace: "dev", pod, container: "application", command, tty });
}
afterEach(() => (server = undefined));

test("input goes in, and outputs and the status come back", async () => {
  const program = await exec(["/bin/sh", "-c", "cat; echo oops >&2; exit 3"]);
  program.stdin.end("hello");
  const outputs = await Promise.all([text(program.stdout), text(program.stderr!)]);
  expect([...outputs, await program.ended]).toEqual(["hello", "oops\n", { code: 3 }]);
  const [request] = server!.requests;
  expect(request?.headers.authorization).toBe("Bearer the-token");
  expect(request?.url).toContain("/api/v1/namespaces/dev/pods/web-0/exec?container=application&stdin=true");
});

test("the input of a terminal ends with a Ctrl-D, and stays open", async () => {
  const program = await exec(["/bin/sh", "-c", "head -c 6 | od -An -c; cat"], "web-0", true);
  program.stdin.end("hello");
  await vi.waitFor(() => expect(String(program.stdout.read())).toContain("h   e   l   l   o 004"), { timeout: 10_000 });
  const isOver = Promise.race([program.ended.then(() => true), setTimeout(200, false)]);
  expect([await isOver, program.stderr]).toEqual([false, undefined]);
  program.close();
});

test("an output that nobody reads holds the program up, and comes whole later", async () => {
  const program = await exec(["/bin/sh", "-c", "head -c 30000000 /dev/zero; echo done >&2"]);
  const done = vi.fn();
  program.stderr!.once("data", done);
  // Long enough for a program that nothing holds up.
  await expect(vi.waitFor(() => expect(done).toHaveBeenCalled(), { timeout: 1_000 })).rejects.toThrow();
  const { length } = await text(program.stdout);
  expect([length, await program.ended]).toEqual([30_000_000, { code: 0 }]);
});

test("a connection that breaks ends the streams, and says so", async () => {
  const program = await exec(["/bin/sh", "-c", "echo up; sleep 1000"]);
  program.stdout.once("data", () => server!.breakAll());
  expect(await program.ended).toEqual({ failure: "the connection to the container broke" });
  expect(program.stdin.destroyed).toBe(true);
});

test("a refusal is a KubeError, and so is a server that is away", async () => {
  await expect(exec(["true"], "forbidden")).rejects.toSatisfy(
    (error) => error instanceof KubeError && error.code === 401,
  );
  const client = createClient({ server: "http://127.0.0.1:1" });
  const request = { namespace: "a", pod: "b", container: "c", command: ["d"], tty: false };
  await expect(execInPod(client, request)).rejects.toMatchObject({ code: 0, reason: "Unreachable" });
});

test.each([
  ["", { failure: "the connection to the container broke" }],
  ['{"status":"Success"}', { code: 0 }],
  ['{"status":"Failure","message":"no such file"}', { failure: "no such file" }],
  ["no JSON", { failure: "no JSON" }],
])("the status %s", (status, end) => expect(toEnd(status)).toEqual(end));

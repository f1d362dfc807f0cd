// kubectl's own requests, replayed: what it asked of a kube-apiserver, as its log at verbosity 9 tells, is asked of both servers, and both answer the same.
// Record again with UPDATE_GOLDEN=1: then every command runs on a kube-apiserver, and its answers become the golden ones.
import { execFile } from "node:child_process";
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { kubeconfigText } from "../../../kube/client/kubeconfig-text.ts";
import { provideBinaries, whyNoControlPlane } from "../../cluster/binaries.ts";
import { startControlPlane } from "../../cluster/control-plane.ts";
import { connect, type Api } from "./api.ts";
import { startEmbedded } from "../embedded-server.ts";
import { kubectlGaps } from "./known-gaps.ts";
import { commands, namespace, type Command } from "./kubectl-requests/commands.ts";
import { readLog, withPlaceholders, type Recorded } from "./kubectl-requests/record.ts";
import { normalized, replay, type Normal } from "./kubectl-requests/replay.ts";
import { widgetCrd } from "./row.ts";
import type { Server } from "./suite.ts";

interface Golden {
  command: string;
  requests: Recorded[];
  answers: Normal[];
}

const golden = join(import.meta.dirname, "kubectl-requests.golden.json");
const reason = whyNoControlPlane();
// Without controllers: what is asked of a server is its own to answer.
const servers: [string, () => Promise<Server>, Record<string, string>][] = [["embedded", startEmbedded, kubectlGaps]];
if (!reason) servers.unshift(["kube-apiserver", () => startControlPlane({ controllers: false }), {}]);

async function prepare(api: Api): Promise<void> {
  expect((await api.post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", widgetCrd)).status).toBe(201);
  expect(
    (await api.post("/api/v1/namespaces", { apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } }))
      .status,
  ).toBe(201);
  await vi.waitFor(async () => expect((await api.get("/openapi/v3/apis/conformance.example/v1")).status).toBe(200), {
    timeout: 20_000,
    interval: 100,
  });
  await vi.waitFor(
    async () =>
      expect((await api.get(`/apis/conformance.example/v1/namespaces/${namespace}/widgets`)).status).toBe(200),
    { timeout: 20_000, interval: 100 },
  );
}

if (process.env["UPDATE_GOLDEN"] && !reason) await record();

describe.each(servers)("kubectl's requests to %s", (_name, start, gaps) => {
  const recorded = JSON.parse(readFileSync(golden, "utf8")) as Golden[];
  let server: Server;
  let connection: ReturnType<typeof connect>;

  beforeAll(async () => {
    server = await start();
    connection = connect(server);
    await prepare(connection.api);
  }, 120_000);
  afterAll(async () => {
    await connection?.close();
    await server?.stop();
  });

  test("the golden requests are those of all commands, gaps name some of them", () => {
    expect(recorded.map(({ command }) => command)).toEqual(commands.map(titleOf));
    expect(Object.keys(gaps).filter((gap) => !recorded.some(({ command }) => command === gap))).toEqual([]);
  });
  for (const { command, requests, answers } of recorded) {
    const gap = gaps[command];
    test(gap ? `${command} [gap: ${gap}]` : command, async () => {
      // The requests of a gap are still sent, since later commands rest on them.
      const given = await replay(connection.api, requests);
      if (!gap)
        expect(
          given.map((answer, index) => ({ of: `${requests[index]!.method} ${requests[index]!.path}`, ...answer })),
        ).toEqual(
          answers.map((answer, index) => ({ of: `${requests[index]!.method} ${requests[index]!.path}`, ...answer })),
        );
    });
  }
});

/** Commands are told apart by what they are given, too. */
function titleOf(command: Command): string {
  const before = commands.slice(0, commands.indexOf(command)).filter(({ args }) => args === command.args).length;
  return `kubectl ${command.args}${before ? ` (${before + 1})` : ""}`;
}

async function record(): Promise<void> {
  const { kubectl } = await provideBinaries();
  const server = await startControlPlane({ controllers: false });
  const home = mkdtempSync(join(tmpdir(), "cupola-kubectl-"));
  const { api, close } = connect(server);
  const entries: Omit<Golden, "answers">[] = [];
  try {
    await prepare(api);
    writeFileSync(
      join(home, "kubeconfig"),
      kubeconfigText({ server: server.url, ca: server.ca, users: [{ name: "admin", token: server.adminToken }] }),
    );
    for (const command of commands)
      entries.push({
        command: titleOf(command),
        requests: withPlaceholders(readLog(await logOf(kubectl, home, command))),
      });
  } finally {
    await close();
    await server.stop();
    rmSync(home, { recursive: true, force: true });
  }
  writeFileSync(golden, `${JSON.stringify(await answered(entries), null, 1)}\n`);
}

async function answered(entries: Omit<Golden, "answers">[]): Promise<Golden[]> {
  const server = await startControlPlane({ controllers: false });
  const { api, close } = connect(server);
  try {
    await prepare(api);
    const all: Golden[] = [];
    for (const entry of entries)
      all.push({
        ...entry,
        answers: (await replay(api, entry.requests)).map((answer) => ({
          ...answer,
          ...(answer.body !== undefined && { body: normalized(answer.body) }),
        })),
      });
    return all;
  } finally {
    await close();
    await server.stop();
  }
}

function logOf(program: string, home: string, { args, input, edit }: Command): Promise<string> {
  const editor = join(home, "editor.sh");
  writeFileSync(editor, `#!/bin/sh\nsed -i '${edit ?? ""}' "$1"\n`);
  chmodSync(editor, 0o700);
  const words = [...args.match(/'[^']*'|\S+/g)!.map((word) => word.replace(/^'|'$/g, "")), "-v=9", "-n", namespace];
  return new Promise((resolve) => {
    const child = execFile(
      program,
      words,
      {
        env: {
          ...process.env,
          HOME: home,
          KUBECONFIG: join(home, "kubeconfig"),
          KUBE_EDITOR: editor,
          KUBECTL_KYAML: "false",
        },
        timeout: 30_000,
        maxBuffer: 100 * 1024 * 1024,
      },
      (_error, _out, err) => resolve(err),
    );
    child.stdin?.end(input ? JSON.stringify(input) : "");
  });
}

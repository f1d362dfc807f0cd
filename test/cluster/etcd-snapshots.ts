// Snapshots of a control plane's etcd, and their restoration as an operator does it: all of its programs end, and begin on the restored data.
import { createWriteStream, rmSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { pipeline } from "node:stream/promises";
import { Client } from "undici";
import { runCommand } from "../../scripts/run-command.ts";
import { provideBinary } from "./binaries.ts";
import type { ControlPlane } from "./control-plane.ts";

const DEADLINE_MS = 60_000;
/** Versions go on from a higher number, and watches from before end with 410: docs/operate/backup.md. */
const BUMP = ["--bump-revision", "1000000000", "--mark-compacted"];

/** The call that `etcdctl snapshot save` makes, as HTTP. */
export async function saveSnapshot({ dir }: Pick<ControlPlane, "dir">, file: string): Promise<void> {
  const client = new Client("http://localhost", { socketPath: join(dir, "etcd.sock"), bodyTimeout: DEADLINE_MS });
  try {
    const { statusCode, body } = await client.request({
      method: "POST",
      path: "/v3/maintenance/snapshot",
      body: "{}",
    });
    if (statusCode !== 200) throw new Error(`etcd answered ${statusCode}: ${await body.text()}`);
    await pipeline(createInterface(body), toBlobs, createWriteStream(file));
  } finally {
    await client.close();
  }
}

async function* toBlobs(lines: AsyncIterable<string>): AsyncGenerator<Buffer> {
  for await (const line of lines) {
    const { result, error } = JSON.parse(line) as { result?: { blob?: string }; error?: { message?: string } };
    if (error) throw new Error(`etcd ended its snapshot: ${error.message ?? ""}`);
    yield Buffer.from(result?.blob ?? "", "base64");
  }
}

export async function restoreSnapshot(
  plane: ControlPlane,
  file: string,
  { isBumped }: { isBumped: boolean },
): Promise<void> {
  const etcdutl = await provideBinary("etcdutl");
  const data = join(plane.dir, "etcd");
  const peer = "http://localhost:2380";
  await plane.whileStopped(async () => {
    rmSync(data, { recursive: true });
    const { code, output } = await runCommand(
      [
        etcdutl,
        ...["snapshot", "restore", file, "--data-dir", data, "--name", "default"],
        ...["--initial-cluster", `default=${peer}`, "--initial-advertise-peer-urls", peer],
        ...(isBumped ? BUMP : []),
      ],
      { cwd: plane.dir, deadlineMs: DEADLINE_MS },
    );
    if (code !== 0) throw new Error(`etcdutl snapshot restore ended with ${code}: ${output}`);
  });
}

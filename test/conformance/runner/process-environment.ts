// A laptop whose platform runs the classes of the runner `process`, with the probe as a host droplet in a directory of blobs.
import { mkdtempSync } from "node:fs";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { pino } from "pino";
import { packMembers } from "../../../blobs/archive/tar.ts";
import { createDirectoryStore } from "../../../blobs/directory/directory-store.ts";
import type { BackendRole } from "../../../crds/backend-class/find-class.ts";
import { PLATFORM_GROUP } from "../../../crds/platform-role.ts";
import { startPlatform, type RunningPlatform } from "../../../platform/platform.ts";
import type { RunnerEnvironment } from "./environment.ts";
import { readProbe, requestByAddress, SPACE, startLaptop } from "./laptop.ts";
import { publishedTelemetry } from "./published-telemetry.ts";

const log = pino({ level: process.env["TEST_LOG"] ?? "silent" });
const TOKEN = "platform-token";
const METADATA = `
[[processes]]
type = "web"
command = ["node", "probe.mjs"]
direct = true
`;

async function putDroplet(data: string): Promise<RunnerEnvironment["droplet"]> {
  const files = { "app/probe.mjs": await readProbe(), "layers/config/metadata.toml": Buffer.from(METADATA) };
  const members = Object.entries(files).map(([path, content]) => ({
    path,
    type: "file" as const,
    mode: 0o644,
    size: content.length,
    content: () => Readable.from(content),
  }));
  const blobs = await createDirectoryStore(join(data, "blobs"));
  const content = await blobs.put(SPACE.guid, "droplet", packMembers(members), { maxBytes: 1e6 });
  return {
    guid: "probe",
    kind: "host",
    content,
    root: join(data, "droplets", "probe"),
    processTypes: { web: "node probe.mjs" },
  };
}

export interface ProcessEnvironment extends RunnerEnvironment {
  /** Stops the platform, leaves what it runs, and starts it again. */
  restartPlatform(): Promise<void>;
}

export async function startProcessEnvironment(className: string, role: BackendRole): Promise<ProcessEnvironment> {
  // Stands for what a platform's own environment may hold.
  process.env["PLATFORM_PASSWORD"] = "not for apps";
  const { url, ca, client, namespace, stop } = await startLaptop({ className, role }, [
    { token: TOKEN, user: "cupola", groups: [PLATFORM_GROUP] },
  ]);
  const data = mkdtempSync(join(tmpdir(), "cupola-runner-"));
  const droplet = await putDroplet(data);
  const start = (): Promise<RunningPlatform> =>
    startPlatform({
      access: { server: url, ca, auth: { kind: "token", token: TOKEN } },
      operations: ["process-runner"],
      data,
      listen: { host: "127.0.0.1", port: 0 },
      log,
    });
  let platform = await start();
  return {
    client,
    className,
    namespace,
    space: SPACE,
    droplet,
    command: "exec node probe.mjs",
    patience: 30_000,
    request: requestByAddress,
    ...publishedTelemetry(client, className),
    async restartPlatform() {
      await platform.stop({ instances: "keep" });
      platform = await start();
    },
    async stop() {
      await platform.stop({ instances: "end" });
      await stop();
      await rm(data, { recursive: true, force: true });
    },
  };
}

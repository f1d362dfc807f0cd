// This runner launches a droplet of builder `host`: restored, with its layers' environment, through a shell or directly.
import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { createDirectoryStore } from "../../../blobs/directory/directory-store.ts";
import { dropletPaths, writeMetadata } from "../../host/droplet-metadata.ts";
import { markRestored } from "../../host/restore-droplet.ts";
import { writeOwner } from "../../host/root-owner.ts";
import { hostLauncher } from "./runner-context.ts";
import { instanceEnvironment } from "./instance-environment.ts";

it("runs a droplet's process in its folder with the environment of its layers, and no variable of the platform", async () => {
  const home = mkdtempSync(join(tmpdir(), "cupola-launch-"));
  const root = join(home, "droplets", "build-1");
  const layer = join(dropletPaths.layers(root), "our_node", "tools");
  for (const dir of [dropletPaths.app(root), join(layer, "bin"), join(layer, "env.launch")])
    mkdirSync(dir, { recursive: true });
  writeFileSync(join(layer, "env.launch", "FROM_LAYER.default"), "yes");
  await writeMetadata(root, {
    buildpacks: [{ id: "our/node", version: "1", api: "0.10" }],
    processes: [{ type: "web", command: ["env"], args: [], direct: true }],
    labels: {},
  });
  const digest = `sha256:${"0".repeat(64)}`;
  await writeOwner({ root, space: "s", digest });
  await markRestored(root, digest);
  process.env.CUPOLA_TEST_SECRET = "do not pass on";

  const launcher = hostLauncher(await createDirectoryStore(join(home, "blobs")), join(home, "droplets"));
  await launcher.restore({ space: "s", digest, root });
  await expect(launcher.restore({ space: "s", digest, root: "/etc/droplet" })).rejects.toThrow("restage");
  const env = instanceEnvironment({
    env: { MINE: "1" },
    index: 0,
    instanceGuid: "g",
    ports: [{ port: 8080, hostPort: 20_000 }],
    memoryMB: 64,
    address: "127.0.0.1",
    home: dropletPaths.app(root),
    tmp: home,
    appDir: dropletPaths.app(root),
    path: launcher.path,
  });
  for (const command of [undefined, "cd . && exec env"]) {
    const launch = await launcher.prepare({ root, processType: "web", env, ...(command && { command }) });
    const { stdout } = await promisify(execFile)(launch.command[0] ?? "", launch.command.slice(1), {
      cwd: launch.cwd,
      env: launch.env,
    });
    const seen = Object.fromEntries(
      stdout
        .trim()
        .split("\n")
        .map((line) => line.split(/=(.*)/s).slice(0, 2)),
    );
    expect(seen).toMatchObject({
      FROM_LAYER: "yes",
      MINE: "1",
      PORT: "20000",
      HOME: dropletPaths.app(root),
      PWD: dropletPaths.app(root),
      USER: "vcap",
    });
    expect(seen.PATH?.split(":")[0]).toBe(join(layer, "bin"));
    expect(seen).not.toHaveProperty("CUPOLA_TEST_SECRET");
  }
});

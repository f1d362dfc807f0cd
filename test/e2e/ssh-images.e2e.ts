// `cf ssh` and OpenSSH on a real node, in an image without bash: forwarding by nc, `-N`, copies, and the processes that ended sessions leave.
// By name: `npm run e2e -- --on node ssh-images`.
import { spawn, spawnSync, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { providePackages } from "../../scripts/image/debian-packages.ts";
import type { ImageEntry } from "../../scripts/image/image-entries.ts";
import { freePort } from "../cluster/free-port.ts";
import { eventually } from "../eventually.ts";
import { tokenOf } from "./support/api.ts";
import { cfOn, whyNoCf } from "./support/cf.ts";
import { pushHelloImage } from "./support/hello-image.ts";
import { startNodePlatform, type NodePlatform } from "./support/node-platform.ts";
import { addClients, chosenPlatformKind } from "./support/start-test-platform.ts";
import type { TestPlatform } from "./support/test-platform.ts";

const SLOW_MS = 240_000;
/** An argument that no other process of this machine has. */
const MARK = "86473";
/** Answers on all of the app's ports; only the app reaches the second. */
const SERVER = `require("http").createServer((_, response) => response.end("here")).listen(process.env.PORT);
require("http").createServer((_, response) => response.end("inside")).listen(7777, "127.0.0.1");`;
const reason = chosenPlatformKind() === "node" ? (whyNoCf() ?? whyNoSSH()) : "it needs --on node";
if (reason) console.log(`ssh into images skipped: ${reason}`);

describe.skipIf(reason)("ssh into an image without bash", { timeout: 600_000 }, () => {
  let installed: NodePlatform;
  let stage: TestPlatform;
  let cf: ReturnType<typeof cfOn>;
  let guid: string;
  let endpoint: string;
  const children: ChildProcess[] = [];

  const succeed = async (...args: string[]): Promise<string> => {
    const { code, output } = await cf(...args);
    expect(code, `cf ${args[0]}\n${output}`).toBe(0);
    return output;
  };

  beforeAll(async () => {
    installed = await startNodePlatform();
    stage = addClients(installed.base, installed.node.kubectl);
    const app = join(stage.home, "app");
    mkdirSync(app);
    writeFileSync(join(app, "server.js"), SERVER);
    const image = await pushHelloImage(installed, "teams/small:1", app, await listShell());
    cf = cfOn(stage, { user: "ssh" });
    mkdirSync(join(stage.home, "cf-ssh"));
    const login = stage.url.replace("localhost", "127.0.0.1");
    await eventually(() => succeed("api", login), SLOW_MS);
    await succeed("auth", "admin", tokenOf(stage, "admin"));
    await succeed("target", "-o", "local", "-s", "dev");
    const { username, password } = installed.node.registry;
    process.env["CF_DOCKER_PASSWORD"] = password;
    await succeed("push", "small", "--docker-image", image, "--docker-username", username, "-m", "64M");
    guid = (await succeed("app", "small", "--guid")).trim();
    const root = (await (await fetch(login, { signal: AbortSignal.timeout(20_000) })).json()) as {
      links: { app_ssh: { href: string } };
    };
    endpoint = root.links.app_ssh.href;
  }, 1_800_000);
  afterAll(async () => {
    for (const child of children) child.kill("SIGKILL");
    await stage?.stop();
  }, SLOW_MS);

  /** OpenSSH with a new code. */
  async function openSSH(program: "ssh" | "scp", args: readonly string[]): Promise<ChildProcess> {
    const [host = "", port = ""] = endpoint.split(":");
    const askpass = join(stage.home, "askpass");
    writeFileSync(askpass, '#!/bin/sh\nprintf %s "$SSH_TEST_CODE"\n', { mode: 0o700 });
    const settings = [
      ...["StrictHostKeyChecking=no", "UserKnownHostsFile=/dev/null", "PreferredAuthentications=password"],
      ...["NumberOfPasswordPrompts=1", "LogLevel=ERROR", `User=cf:${guid}/0`],
    ].flatMap((one) => ["-o", one]);
    const place = program === "ssh" ? ["-p", port, host] : ["-O", "-P", port];
    const code = (await succeed("ssh-code")).trim();
    const child = spawn(program, ["-F", "none", ...settings, ...place, ...args], {
      env: { ...process.env, SSH_ASKPASS: askpass, SSH_ASKPASS_REQUIRE: "force", DISPLAY: ":0", SSH_TEST_CODE: code },
      stdio: ["pipe", "pipe", "pipe"],
    });
    children.push(child);
    return child;
  }

  async function ended(child: ChildProcess): Promise<{ code: number | null; out: string; err: string }> {
    child.stdin?.end();
    const closed = once(child, "close") as Promise<[number | null]>;
    const [out, err, [code]] = await Promise.all([text(child.stdout!), text(child.stderr!), closed]);
    return { code, out, err };
  }

  test("there is no bash, and a command runs", async () => {
    expect(await succeed("ssh", "small", "-c", "command -v bash || echo none")).toContain("none");
  });

  test("-L reaches a port that only the app reaches, with -N, and leaves no process", async () => {
    const port = await freePort();
    const child = spawn(process.env["CF_BIN"] ?? "cf", ["ssh", "small", "-N", "-L", `${port}:127.0.0.1:7777`], {
      env: { ...process.env, CF_HOME: join(stage.home, "cf-ssh"), KUBECONFIG: stage.kubeconfig },
      stdio: "ignore",
    });
    children.push(child);
    await eventually(async () => expect(await get(port)).toContain("inside"), SLOW_MS);
    child.kill("SIGTERM");
    await once(child, "close");
    await eventually(() => expect(processesWith("127.0.0.1\0" + "7777")).toEqual([]), SLOW_MS);
  });

  test("a port at which nothing listens ends the connection", async () => {
    const port = await freePort();
    const child = await openSSH("ssh", ["-N", "-L", `${port}:127.0.0.1:9`]);
    await eventually(async () => expect(await get(port)).toBe(""), SLOW_MS);
    child.kill("SIGTERM");
    await once(child, "close");
  });

  test("OpenSSH with a code: a command and its status; a session that is cut off leaves no process", async () => {
    expect(await ended(await openSSH("ssh", ["echo $CF_INSTANCE_INDEX; exit 5"]))).toMatchObject({
      code: 5,
      out: "0\n",
    });
    const child = await openSSH("ssh", [`sleep ${MARK}`]);
    await eventually(() => expect(processesWith(`sleep\0${MARK}`)).not.toEqual([]), SLOW_MS);
    child.kill("SIGKILL");
    await eventually(() => expect(processesWith(`sleep\0${MARK}`)).toEqual([]), SLOW_MS);
  });

  test("scp both ways", async () => {
    const [there, back] = [join(stage.home, "there.bin"), join(stage.home, "back.bin")];
    writeFileSync(there, Buffer.alloc(300_000, "content "));
    const remote = `${endpoint.split(":")[0]}:/tmp/copied.bin`;
    expect(await ended(await openSSH("scp", [there, remote]))).toMatchObject({ code: 0 });
    expect(await ended(await openSSH("scp", [remote, back]))).toMatchObject({ code: 0 });
    expect(readFileSync(back).equals(readFileSync(there))).toBe(true);
  });
});

/** The answer to a request at a local port; empty where the connection ends. */
function get(port: number): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, "127.0.0.1", () => socket.write("GET / HTTP/1.0\r\n\r\n"));
    socket.setTimeout(20_000, () => socket.destroy(new Error("no answer")));
    let answer = "";
    socket.setEncoding("utf8").on("data", (part) => (answer += String(part)));
    socket.on("error", (error) =>
      (error as NodeJS.ErrnoException).code === "ECONNRESET" ? resolve("") : reject(error),
    );
    socket.on("end", () => resolve(answer));
  });
}

/** Processes of this machine, containers included, whose arguments have the text. */
function processesWith(args: string): string[] {
  return readdirSync("/proc").filter((pid) => {
    if (!/^\d+$/.test(pid)) return false;
    try {
      return readFileSync(`/proc/${pid}/cmdline`, "utf8").includes(args);
    } catch {
      return false; // It has ended meanwhile.
    }
  });
}

/** BusyBox as the shell, and this machine's scp with its libraries. */
async function listShell(): Promise<ImageEntry[]> {
  const { root } = await providePackages(["busybox-static"]);
  const applets = ["sh", "cat", "echo", "kill", "nc", "sleep", "setsid", "ps", "env"];
  const scp = whereIs("scp");
  const libraries = spawnSync("ldd", [scp], { encoding: "utf8" }).stdout.match(/\/\S+/g) ?? [];
  const loader = libraries.find((path) => path.includes("ld-linux")) ?? "";
  const name = (path: string): string => path.split("/").at(-1) ?? "";
  const run = `#!/bin/sh\nexec /scp/${name(loader)} --library-path /scp /scp/scp "$@"\n`;
  return [
    { type: "file", path: "/bin/busybox", mode: 0o755, source: join(root, "bin", "busybox") },
    ...applets.map((applet): ImageEntry => ({ type: "symlink", path: `/bin/${applet}`, target: "busybox" })),
    ...[scp, ...libraries].map((path): ImageEntry => ({
      type: "file",
      path: `/scp/${name(path)}`,
      mode: 0o755,
      source: path,
    })),
    { type: "file", path: "/bin/scp", mode: 0o755, content: run },
  ];
}

function whereIs(program: string): string {
  return spawnSync("sh", ["-c", `command -v ${program}`], { encoding: "utf8" }).stdout.trim();
}

function whyNoSSH(): string | undefined {
  return whereIs("ssh") && whereIs("scp") ? undefined : "there is no ssh or no scp";
}

// `cf ssh` and OpenSSH against a laptop: forwarding, copies, who is refused, and what ended sessions leave.
import { spawn, spawnSync, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { connect, createServer, type AddressInfo, type Server } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { request } from "undici";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { findByEnvironment } from "../../backends/host/process-table.ts";
import { freePort } from "../cluster/free-port.ts";
import { eventually } from "../eventually.ts";
import { apiAt, tokenOf, type Api, type Named, type Page } from "./support/api.ts";
import { cfOn, whyNoCf } from "./support/cf.ts";
import { chosenPlatformKind, startTestPlatform } from "./support/start-test-platform.ts";
import type { TestPlatform } from "./support/test-platform.ts";
import { newUser } from "./support/user.ts";

const PROGRAM = `require("http").createServer((_, response) => response.end("here")).listen(process.env.PORT)`;
const hasOpenSSH = spawnSync("ssh", ["-V"]).status === 0;
/** Each process of a session has it. */
const MARK = "CUPOLA_SSH_SESSION=";

interface Ran {
  code: number | null;
  out: string;
  err: string;
}

describe.skipIf(chosenPlatformKind() !== "laptop" || whyNoCf() !== undefined)("cf ssh", () => {
  let laptop: TestPlatform;
  let cf: ReturnType<typeof cfOn>;
  let admin: Api;
  let guid: string;
  let endpoint: { href: string; meta: { host_key_fingerprint: string } };
  let echo: Server;
  const children: ChildProcess[] = [];

  const loginURL = (): string => laptop.url.replace("localhost", "127.0.0.1");
  const succeed = async (...args: string[]): Promise<string> => {
    const { code, output } = await cf(...args);
    expect(code, `cf ${args.join(" ")}\n${output}`).toBe(0);
    return output;
  };
  const newCode = async (): Promise<string> => (await succeed("ssh-code")).trim();
  const codeOf = async (token: string, url = loginURL()): Promise<{ status: number; code: string }> => {
    const query = "response_type=code&client_id=ssh-proxy";
    const answer = await request(`${url}/oauth/authorize?${query}`, { headers: { authorization: `bearer ${token}` } });
    await answer.body.dump();
    const code = new URL(String(answer.headers["location"] ?? "http://none")).searchParams.get("code") ?? "";
    return { status: answer.statusCode, code };
  };
  const sessions = (): Promise<number[]> => findByEnvironment(MARK);

  function start(program: string, args: string[], code: string): ChildProcess {
    const [host = "", port = ""] = endpoint.href.split(":");
    const askpass = join(laptop.home, "askpass");
    writeFileSync(askpass, '#!/bin/sh\nprintf %s "$SSH_TEST_CODE"\n', { mode: 0o700 });
    const options = ["StrictHostKeyChecking=no", "UserKnownHostsFile=/dev/null", "PreferredAuthentications=password"];
    const fixed = ["-F", "none", ...options, "NumberOfPasswordPrompts=1", "LogLevel=ERROR"].flatMap((one, at) =>
      at < 2 ? [one] : ["-o", one],
    );
    const place = program === "ssh" ? ["-p", port, "-l", `cf:${guid}/0`, host] : ["-O", "-P", port];
    const child = spawn(program, [...fixed, ...place, ...args], {
      env: { ...process.env, SSH_ASKPASS: askpass, SSH_ASKPASS_REQUIRE: "force", DISPLAY: ":0", SSH_TEST_CODE: code },
      stdio: ["pipe", "pipe", "pipe"],
    });
    children.push(child);
    return child;
  }

  async function openSSH(program: "ssh" | "scp", args: string[], code: string): Promise<Ran> {
    const child = start(program, args, code);
    child.stdin!.end();
    const closed = once(child, "close") as Promise<[number | null]>;
    const [out, err, [status]] = await Promise.all([text(child.stdout!), text(child.stderr!), closed]);
    return { code: status, out, err };
  }

  beforeAll(async () => {
    laptop = await startTestPlatform();
    admin = apiAt(laptop.url, tokenOf(laptop, "admin"));
    const source = join(laptop.home, "source");
    mkdirSync(source);
    writeFileSync(join(source, "index.js"), PROGRAM);
    writeFileSync(join(source, "Procfile"), "web: node index.js\n");
    cf = cfOn(laptop, { user: "ssh" });
    mkdirSync(`${laptop.home}/cf-ssh`);
    await succeed("api", loginURL(), "--skip-ssl-validation");
    await succeed("auth", "admin", tokenOf(laptop, "admin"));
    await succeed("create-org", "ours");
    await succeed("target", "-o", "ours");
    await succeed("create-space", "dev");
    await succeed("target", "-s", "dev");
    await succeed("push", "shop", "-p", source, "-m", "64M");
    guid = (await succeed("app", "shop", "--guid")).trim();
    const root = (await (await fetch(loginURL())).json()) as { links: { app_ssh: typeof endpoint } };
    endpoint = root.links.app_ssh;
    echo = createServer((socket) => socket.on("error", () => undefined).pipe(socket)).listen(0, "127.0.0.1");
    await once(echo, "listening");
  }, 240_000);
  afterAll(async () => {
    for (const child of children) child.kill("SIGKILL");
    echo?.close();
    await laptop?.stop();
  });

  test("-L reaches what the app reaches, with -N, and ends without a process", async () => {
    const port = await freePort();
    const target = `127.0.0.1:${(echo.address() as AddressInfo).port}`;
    const child = spawn(process.env["CF_BIN"] ?? "cf", ["ssh", "shop", "-N", "-L", `${port}:${target}`], {
      env: { ...process.env, CF_HOME: `${laptop.home}/cf-ssh`, KUBECONFIG: laptop.kubeconfig },
      stdio: "ignore",
    });
    children.push(child);
    await eventually(async () => expect(await echoOf(port, "through")).toBe("through"));
    child.kill("SIGTERM");
    await once(child, "close");
    await eventually(async () => expect(await sessions()).toEqual([]));
  });

  test("programs that a session leaves behind end with it, and an instance that stops ends its sessions", async () => {
    await succeed("ssh", "shop", "-c", "setsid sleep 1000 & sleep 0.2; echo started");
    await eventually(async () => expect(await sessions()).toEqual([]));
    const code = await newCode();
    const child = hasOpenSSH ? start("ssh", ["sleep 1000"], code) : undefined;
    if (!child) return;
    await eventually(async () => expect((await sessions()).length).toBeGreaterThan(0));
    await succeed("stop", "shop");
    await once(child, "close");
    await eventually(async () => expect(await sessions()).toEqual([]));
    await succeed("start", "shop");
  });

  test.runIf(hasOpenSSH)(
    "OpenSSH with a code: a command, its status, and the host key that the API names",
    async () => {
      const { code, out } = await openSSH("ssh", ["echo $CF_INSTANCE_INDEX; exit 5"], await newCode());
      expect([code, out]).toEqual([5, "0\n"]);
      const [host = "", port = ""] = endpoint.href.split(":");
      const scanned = spawnSync("sh", [
        "-c",
        `ssh-keyscan -t ed25519 -p ${port} ${host} 2>/dev/null | ssh-keygen -lf -`,
      ]);
      expect(scanned.stdout.toString()).toContain(`SHA256:${endpoint.meta.host_key_fingerprint} `);
    },
  );

  test.runIf(hasOpenSSH && spawnSync("sh", ["-c", "command -v scp"]).status === 0)("scp both ways", async () => {
    const [there, back] = [join(laptop.home, "there.bin"), join(laptop.home, "back.bin")];
    writeFileSync(there, Buffer.alloc(300_000, "content "));
    const remote = `${endpoint.href.split(":")[0]}:copied.bin`;
    const user = ["-o", `User=cf:${guid}/0`];
    expect(await openSSH("scp", [...user, there, remote], await newCode())).toMatchObject({ code: 0 });
    expect(await openSSH("scp", [...user, remote, back], await newCode())).toMatchObject({ code: 0 });
    expect(readFileSync(back).equals(readFileSync(there))).toBe(true);
  });

  describe.runIf(hasOpenSSH)("refused", () => {
    const refused = async (code: string): Promise<void> => {
      const ran = await openSSH("ssh", ["echo in"], code);
      expect(ran).toMatchObject({ code: 255, out: "" });
    };

    test("a used code, and what is none", async () => {
      const code = await newCode();
      expect((await openSSH("ssh", ["echo in"], code)).out).toBe("in\n");
      await refused(code);
      await refused("");
      await refused(tokenOf(laptop, "admin"));
      await refused((await succeed("oauth-token")).trim().replace(/^bearer /, ""));
    });

    test("a code of another installation", async () => {
      const other = await startTestPlatform();
      try {
        const { code } = await codeOf(tokenOf(other, "admin"), other.url);
        expect(code).not.toBe("");
        await refused(code);
      } finally {
        await other.stop();
      }
    });

    test("a supporter, and the developer of another space; the developer of this one gets in", async () => {
      const orgs = await admin.call<Page<Named>>("GET", "/v3/organizations?names=ours");
      const ours = `names=dev&organization_guids=${orgs.resources[0]!.guid}`;
      const { resources } = await admin.call<Page<Named>>("GET", `/v3/spaces?${ours}`);
      const relationship = (kind: string, at: string, user: string): object => ({
        relationships: { user: { data: { username: user } }, [kind]: { data: { guid: at } } },
      });
      const elsewhere = await admin.call<Named>("POST", "/v3/spaces", {
        name: "elsewhere",
        relationships: { organization: { data: { guid: orgs.resources[0]!.guid } } },
      });
      const grants = [
        ["supporter", "space_supporter", resources[0]!.guid, false],
        ["stranger", "space_developer", elsewhere.guid, false],
        ["colleague", "space_developer", resources[0]!.guid, true],
      ] as const;
      for (const [name, type, space, isAllowed] of grants) {
        const user = await newUser(laptop, name);
        await admin.call("POST", "/v3/roles", {
          type: "organization_user",
          ...relationship("organization", orgs.resources[0]!.guid, user.name),
        });
        await admin.call("POST", "/v3/roles", { type, ...relationship("space", space, user.name) });
        const { code } = await codeOf(user.token);
        if (isAllowed) expect((await openSSH("ssh", ["echo in"], code)).out).toBe("in\n");
        else await refused(code);
      }
      const events = await admin.call<Page<{ type: string }>>(
        "GET",
        `/v3/audit_events?target_guids=${guid}&per_page=100`,
      );
      const types = events.resources.map(({ type }) => type);
      expect(types).toEqual(
        expect.arrayContaining(["audit.app.ssh-authorized", "audit.app.ssh-unauthorized"]) as string[],
      );
    });

    test("an app whose ssh is off, and a space whose ssh is off", async () => {
      await succeed("disable-ssh", "shop");
      await refused(await newCode());
      expect(await succeed("ssh-enabled", "shop")).toContain("ssh support is disabled");
      await succeed("enable-ssh", "shop");
      await succeed("disallow-space-ssh", "dev");
      await refused(await newCode());
      await succeed("allow-space-ssh", "dev");
      expect(await succeed("ssh-enabled", "shop")).toContain("ssh support is enabled");
    });
  });
});

/** Sends words to a port of this machine. @throws Error when nobody listens there */
async function echoOf(port: number, words: string): Promise<string> {
  const socket = connect(port, "127.0.0.1");
  const answered = once(socket, "data").then(([data]) => String(data));
  const failed = once(socket, "error").then(([error]) => Promise.reject(error as Error));
  const late = once(socket, "close").then(() => Promise.reject(new Error("closed")));
  socket.write(words);
  try {
    return await Promise.race([answered, failed, late]);
  } finally {
    socket.destroy();
  }
}

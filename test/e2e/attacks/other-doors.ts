// Attacks at the doors beside the CF API: the SSH proxy, refreshes of logins, ports of TCP routes, and policies between apps.
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import ssh2 from "ssh2";
import { request } from "undici";
import { expect, test } from "vitest";
import type { Api, Named, Page } from "../support/api.ts";
import type { TestPlatform } from "../support/test-platform.ts";
import type { User } from "../support/user.ts";

interface Attacked {
  laptop: TestPlatform;
  /** An admin. */
  api: Api;
  attacker: User;
  /** GUIDs of apps. */
  apps: { victim: string; thief: string };
}

const PATIENCE_MS = 20_000;
const FLOOD = 300;

export function otherDoorAttacks(get: () => Promise<Attacked>): void {
  const loginURL = (laptop: TestPlatform): string => laptop.url.replace("localhost", "127.0.0.1");

  async function sshPort(laptop: TestPlatform): Promise<number> {
    const root = (await (await fetch(loginURL(laptop))).json()) as { links: { app_ssh: { href: string } } };
    return Number(root.links.app_ssh.href.split(":")[1]);
  }

  async function codeOf(laptop: TestPlatform, token: string): Promise<string> {
    const url = `${loginURL(laptop)}/oauth/authorize?response_type=code&client_id=ssh-proxy`;
    const answer = await request(url, { headers: { authorization: `bearer ${token}` } });
    await answer.body.dump();
    return new URL(String(answer.headers["location"])).searchParams.get("code") ?? "";
  }

  /** "in", or the client's error. */
  async function tryShell(port: number, app: string, code: string): Promise<string> {
    const client = new ssh2.Client();
    try {
      return await new Promise<string>((resolve) => {
        client.once("ready", () => resolve("in")).once("error", (error) => resolve(error.message));
        client.connect({ host: "127.0.0.1", port, username: `cf:${app}/0`, password: code, readyTimeout: PATIENCE_MS });
      });
    } finally {
      client.destroy();
    }
  }

  test("nobody opens a shell in another's app; silent and foreign connections keep nobody out", async () => {
    const { laptop, attacker, apps } = await get();
    const port = await sshPort(laptop);
    const sockets: Socket[] = [];
    try {
      for (let at = 0; at < FLOOD; at += 1) {
        const socket = connect(port, "127.0.0.1").on("error", () => undefined);
        if (at % 2) socket.write("GET / HTTP/1.1\r\n\r\n");
        sockets.push(socket);
      }
      await Promise.all(sockets.filter(({ connecting }) => connecting).map((socket) => once(socket, "connect")));
      const code = await codeOf(laptop, attacker.token);
      expect(await tryShell(port, apps.victim, code)).toMatch(/authentication methods failed/);
      expect(await tryShell(port, apps.thief, code)).toMatch(/authentication methods failed/); // used
      const own = await codeOf(laptop, attacker.token);
      expect(await tryShell(port, apps.thief, own)).toBe("in");
      expect(await tryShell(port, apps.thief, attacker.token)).toMatch(/authentication methods failed/);
    } finally {
      for (const socket of sockets) socket.destroy();
    }
  });

  test("a flood of bad refreshes and passwords locks out nobody who is logged in", async () => {
    const { laptop, attacker } = await get();
    const ask = async (fields: Record<string, string>, address: string): Promise<number> => {
      const answer = await request(`${loginURL(laptop)}/oauth/token`, {
        method: "POST",
        headers: { "content-type": "application/x-www-form-urlencoded", "x-forwarded-for": address },
        body: new URLSearchParams(fields).toString(),
      });
      await answer.body.dump();
      return answer.statusCode;
    };
    const login = { grant_type: "password", password: attacker.token };
    expect(await ask(login, "198.51.100.1")).toBe(200);
    const refresh = { grant_type: "refresh_token", refresh_token: "a.b.c" };
    const refreshes = await Promise.all(Array.from({ length: FLOOD }, () => ask(refresh, "198.51.100.1")));
    expect(new Set(refreshes)).toEqual(new Set([401]));
    for (let at = 0; at < 25; at += 1)
      await Promise.all(
        Array.from({ length: 30 }, (_, one) =>
          ask({ grant_type: "password", password: `wrong-${at}-${one}` }, `192.0.2.${at}`),
        ),
      );
    expect(await ask(login, "203.0.113.9")).toBe(200);
  });

  test("no route takes a port of the machine that its router does not offer", async () => {
    const { laptop, api } = await get();
    const groups = JSON.parse((await api.send("GET", "/routing/v1/router_groups")).text) as Named[];
    const domain = await api.call("POST", "/v3/domains", {
      name: "attacks.localhost",
      router_group: { guid: groups[0]?.guid },
    });
    const spaces = await api.call<Page<Named>>("GET", "/v3/spaces?names=dev");
    const relationships = { space: { data: { guid: spaces.resources.at(-1)?.guid } }, domain: { data: domain } };
    for (const port of [22, 2222, laptop.port])
      expect((await api.send("POST", "/v3/routes", { port, relationships })).status).toBe(422);
  });

  test("no policy opens a way from or into an app that its maker may not change", async () => {
    const { attacker, apps } = await get();
    const way = (source: string, destination: string): object => ({
      source: { id: source },
      destination: { id: destination, protocol: "tcp", ports: { start: 1, end: 65535 } },
    });
    for (const policy of [way(apps.thief, apps.victim), way(apps.victim, apps.thief)]) {
      const { status } = await attacker.api.send("POST", "/networking/v1/external/policies", { policies: [policy] });
      expect(status).toBe(422);
    }
  });
}

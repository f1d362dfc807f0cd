// Attacks at the doors beside the CF API: the SSH proxy, refreshes of logins, ports of TCP routes, and policies between apps.
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import ssh2 from "ssh2";
import { request } from "undici";
import { expect, test } from "vitest";
import { tokenOf, type Api, type Named, type Page } from "../support/api.ts";
import { eventually } from "../../eventually.ts";
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

  test("a code that several use at once opens one shell", async () => {
    const { laptop, attacker, apps } = await get();
    const port = await sshPort(laptop);
    const code = await codeOf(laptop, attacker.token);
    const tries = await Promise.all(Array.from({ length: 8 }, () => tryShell(port, apps.thief, code)));
    expect(tries.filter((result) => result === "in")).toHaveLength(1);
  });

  test("a flood of requests for codes leaves a bounded number of objects, and costs others none", async () => {
    const { laptop, attacker } = await get();
    const ask = async (token: string): Promise<number> => {
      const url = `${loginURL(laptop)}/oauth/authorize?response_type=code&client_id=ssh-proxy`;
      const answer = await request(url, { headers: { authorization: `bearer ${token}` } });
      await answer.body.dump();
      return answer.statusCode;
    };
    const answers = await Promise.all(Array.from({ length: FLOOD }, () => ask(attacker.token)));
    expect(answers.filter((status) => status === 302).length).toBeLessThanOrEqual(30);
    expect(answers.filter((status) => status !== 302 && status !== 400)).toEqual([]);
    const { output } = await laptop.kubectl("get", "sshcodes.cupola.dev", "-A", "-o", "name");
    expect(output.split("\n").filter((line) => line !== "").length).toBeLessThanOrEqual(40);
    expect(await ask(tokenOf(laptop, "admin"))).toBe(302);
  });

  test("the objects of codes say neither the code nor who asked, and no tenant sees them", async () => {
    const { laptop, attacker } = await get();
    const code = await codeOf(laptop, tokenOf(laptop, "admin"));
    const { output } = await laptop.kubectl("get", "sshcodes.cupola.dev", "-n", "cupola-system", "-o", "yaml");
    expect([output.includes("sealed:"), output.includes(code), output.includes("system:masters")]).toEqual([
      true,
      false,
      false,
    ]);
    const seen = await laptop.kubectl("get", "sshcodes.cupola.dev", "-A", "--as", attacker.name);
    expect([seen.code === 0, /forbidden/i.test(seen.output)]).toEqual([false, true]);
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

  test("a later app of a deleted one's name gets none of its policies", async () => {
    const { api, apps } = await get();
    const thief = await api.call<{ relationships: { space: object } }>("GET", `/v3/apps/${apps.thief}`);
    const relationships = { space: thief.relationships.space };
    const make = (): Promise<Named> => api.call("POST", "/v3/apps", { name: "way-in", relationships });
    const first = await make();
    const way = {
      source: { id: first.guid },
      destination: { id: apps.victim, protocol: "tcp", ports: { start: 1, end: 9 } },
    };
    expect((await api.send("POST", "/networking/v1/external/policies", { policies: [way] })).status).toBe(200);
    await eventually(async () => {
      const [policy] = await policiesNamed("way-in");
      expect(policy?.status?.sourceUID).toBeDefined();
    });
    await api.send("DELETE", `/v3/apps/${first.guid}`);
    await eventually(async () => expect(await policiesNamed("way-in")).toEqual([]));
    const second = await make();
    const { text } = await api.send("GET", `/networking/v1/external/policies?id=${second.guid}`);
    expect(JSON.parse(text)).toMatchObject({ total_policies: 0 });
    await api.send("DELETE", `/v3/apps/${second.guid}`);
  });

  interface Policy {
    spec: { source: { app: string } };
    status?: { sourceUID?: string };
  }

  async function policiesNamed(app: string): Promise<Policy[]> {
    const { laptop } = await get();
    const { output } = await laptop.kubectl("get", "apppolicies.cupola.dev", "-A", "-o", "json");
    return (JSON.parse(output) as { items: Policy[] }).items.filter(({ spec }) => spec.source.app === app);
  }
}

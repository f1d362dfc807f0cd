// Attacks with the tokens of the two ways to log in, each where another belongs; and with route services: their addresses, and signatures that are made up.
import { request } from "undici";
import { expect, test } from "vitest";
import type { Api, Named, Page } from "../support/api.ts";
import { eventually } from "../../eventually.ts";
import type { TestPlatform } from "../support/test-platform.ts";
import type { User } from "../support/user.ts";

interface Attacked {
  laptop: TestPlatform;
  /** An admin, whose target is the attacker's space. */
  api: Api;
  attacker: User;
  /** Pushes an app that answers with its name. */
  push: (name: string) => Promise<void>;
}
interface Tokens {
  access_token: string;
  refresh_token: string;
}

const FLOOD = 100;

export function tokenAndRouteServiceAttacks(get: () => Attacked): void {
  const loginURL = (laptop: TestPlatform): string => laptop.url.replace("localhost", "127.0.0.1");

  async function grant(
    laptop: TestPlatform,
    fields: Record<string, string>,
  ): Promise<{ status: number; text: string }> {
    const answer = await request(`${loginURL(laptop)}/oauth/token`, {
      method: "POST",
      headers: { "content-type": "application/x-www-form-urlencoded" },
      body: new URLSearchParams(fields).toString(),
    });
    return { status: answer.statusCode, text: await answer.body.text() };
  }

  async function statusOf(url: string, authorization: string): Promise<number> {
    const answer = await request(url, { headers: { authorization } });
    await answer.body.dump();
    return answer.statusCode;
  }

  test("a token of one way to log in opens nothing where one of the other belongs", async () => {
    const { laptop, attacker } = get();
    const given = await grant(laptop, { grant_type: "password", password: attacker.token });
    const { access_token: access, refresh_token: refresh } = JSON.parse(given.text) as Tokens;
    const [plain, login] = [`${laptop.url}/v3/apps`, `${loginURL(laptop)}/v3/apps`];
    for (const url of [plain, login]) {
      // Each token where it belongs.
      for (const token of [attacker.token, access]) expect(await statusOf(url, `bearer ${token}`)).toBe(200);
      const [head = "", body = ""] = access.split(".");
      const unsigned = Buffer.from(JSON.stringify({ alg: "none", typ: "JWT" })).toString("base64url");
      for (const value of [
        `bearer ${refresh}`,
        `bearer ${head}.${body}.`,
        `bearer ${unsigned}.${body}.`,
        `bearer ${access}, bearer ${attacker.token}x`,
        `Basic ${Buffer.from(`attacker:${access}`).toString("base64")}`,
        `ClientCert ${access}`,
      ])
        expect([value.split(" ")[0], await statusOf(url, value)]).toEqual([value.split(" ")[0], 401]);
    }
    // A login token is none of Kubernetes', and no login.
    const kube = await laptop.kubectl("get", "apps.cupola.dev", "-A", "--token", access, "--user", "nobody-at-all");
    expect(kube.code).not.toBe(0);
    const wrong: Record<string, string>[] = [
      { grant_type: "password", password: access },
      { grant_type: "password", password: refresh },
      { grant_type: "refresh_token", refresh_token: access },
      { grant_type: "refresh_token", refresh_token: attacker.token },
      { grant_type: "password", username: "admin", password: attacker.token },
    ];
    for (const fields of wrong)
      expect([fields.grant_type, (await grant(laptop, fields)).status]).toEqual([fields.grant_type, 401]);
  });

  test("a route service has no address of the platform's own, and no password", async () => {
    const { api } = get();
    const relationships = await inSpaceOf(api);
    for (const url of [
      "http://169.254.169.254/latest/meta-data",
      "http://10.0.0.1",
      "http://localhost.evil.example",
      "https://user:secret@guard.example",
      "file:///etc/passwd",
      "gopher://127.0.0.1:6379/_x",
    ]) {
      const body = { type: "user-provided", name: "ssrf", route_service_url: url, relationships };
      expect([url, (await api.send("POST", "/v3/service_instances", body)).status]).toEqual([url, 422]);
    }
  });

  test("no signature that somebody makes up passes a route service, and many cost others nothing", async () => {
    const { laptop, api, push } = get();
    await push("guarded");
    const { resources } = await api.call<Page<Named>>("GET", "/v3/routes?hosts=guarded");
    const relationships = await inSpaceOf(api);
    const body = { type: "user-provided", name: "guard", route_service_url: "https://guard.invalid", relationships };
    const guard = await api.call("POST", "/v3/service_instances", body);
    const bound = await api.send("POST", "/v3/service_route_bindings", {
      relationships: {
        route: { data: { guid: resources[0]?.guid } },
        service_instance: { data: { guid: guard.guid } },
      },
    });
    expect([bound.status < 300, bound.text.includes("errors")]).toEqual([true, false]);
    const ask = async (headers: Record<string, string> = {}): Promise<[number, unknown]> => {
      const host = `guarded.apps.localhost:${laptop.port}`;
      const answer = await request(`http://127.0.0.1:${laptop.port}/`, { headers: { host, ...headers } });
      expect(await answer.body.text()).not.toBe("guarded");
      return [answer.statusCode, answer.headers["x-cf-routererror"]];
    };
    await eventually(async () => {
      const answer = await request(`http://127.0.0.1:${laptop.port}/`, {
        headers: { host: `guarded.apps.localhost:${laptop.port}` },
      });
      await answer.body.dump();
      expect(answer.statusCode).toBe(502);
    }, 60_000);
    const unknown = Buffer.from(JSON.stringify({ nonce: "AAAAAAAAAAAAAAAA", key: "no-such-key" })).toString(
      "base64url",
    );
    const forged = {
      "x-cf-forwarded-url": `http://guarded.apps.localhost:${laptop.port}/`,
      "x-cf-proxy-signature": Buffer.alloc(120, 7).toString("base64url"),
    };
    const answers = await Promise.all(
      Array.from({ length: FLOOD }, (_none, at) => ask({ ...forged, "x-cf-proxy-metadata": at % 2 ? unknown : "e30" })),
    );
    expect(new Set(answers.map(([status, error]) => `${status} ${String(error)}`))).toEqual(
      new Set(["502 signature_validation_failed"]),
    );
    expect(await laptop.get("victim.apps.localhost")).toMatchObject({ status: 200, body: "victim" });
    const [binding] = (
      await api.call<Page<Named>>("GET", `/v3/service_route_bindings?service_instance_guids=${guard.guid}`)
    ).resources;
    await api.send("DELETE", `/v3/service_route_bindings/${binding?.guid}`);
    await api.send("DELETE", `/v3/service_instances/${guard.guid}`);
    await eventually(
      async () => expect(await laptop.get("guarded.apps.localhost")).toMatchObject({ status: 200, body: "guarded" }),
      60_000,
    );
  }, 180_000);
}

async function inSpaceOf(api: Api): Promise<object> {
  const { resources } = await api.call<Page<Named & { relationships: { space: { data: { guid: string } } } }>>(
    "GET",
    "/v3/apps?names=thief",
  );
  return { space: { data: { guid: resources[0]?.relationships.space.data.guid } } };
}

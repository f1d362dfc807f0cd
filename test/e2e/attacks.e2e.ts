// An attacker with a network connection and a space does nothing to others that they notice.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { FormData, request } from "undici";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parse } from "yaml";
import { otherDoorAttacks } from "./attacks/other-doors.ts";
import { overlappingZip } from "./attacks/overlapping-zip.ts";
import { startSlowClients, type SlowClients } from "./attacks/slow-clients.ts";
import { tokenAndRouteServiceAttacks } from "./attacks/tokens-and-route-services.ts";
import { uploadAndNameAttacks } from "./attacks/uploads-and-names.ts";
import { zip } from "./bad-input/archives.ts";
import { sendRaw } from "./bad-input/raw-http.ts";
import { apiAt, errorsOf, tokenOf, type Api, type ApiAnswer, type Named, type Page } from "./support/api.ts";
import { eventually } from "../eventually.ts";
import { chosenPlatformKind, startTestPlatform } from "./support/start-test-platform.ts";
import type { TestPlatform } from "./support/test-platform.ts";
import { newUser, type User } from "./support/user.ts";

/** Answers with its name, with the body that it gets, or never. */
const program = (name: string): string => `require("http").createServer((request, response) => {
  if (request.url === "/never") return;
  if (request.method === "GET") return response.end("${name}");
  request.pipe(response);
}).listen(process.env.PORT);
`;
const PATIENCE_MS = 20_000;
const SLOW_CLIENTS = 300;
/** The limit for headers, how often it is checked, and as much again for a machine under load. */
const HEADERS_MS = 70_000;

interface Droplet {
  apiVersion: string;
  kind: string;
  metadata: { name: string };
  spec: { root: string; content: { digest: string; size: number } };
}

// On a cluster other runners, proxies and load balancers stand there.
describe.skipIf(chosenPlatformKind() === "cluster")("attacks", () => {
  let laptop: TestPlatform;
  let admin: Api;
  let attacker: User;
  let token: string;
  const slow: SlowClients[] = [];

  async function cup(...args: string[]): Promise<void> {
    const { code, output } = await laptop.cup(...args);
    expect(code, `cup ${args.join(" ")}\n${output}`).toBe(0);
  }

  async function push(name: string): Promise<void> {
    const source = join(laptop.home, `source-${name}`);
    mkdirSync(source);
    writeFileSync(join(source, "index.js"), program(name));
    writeFileSync(join(source, "Procfile"), "web: node index.js\n");
    await cup("push", name, "--path", source, "-m", "64M", "--no-manifest");
  }

  const expectServed = async (name: string): Promise<void> =>
    expect(await laptop.get(`${name}.apps.localhost`)).toMatchObject({ status: 200, body: name });

  const livez = async (): Promise<number> =>
    (await fetch(`${laptop.url}/livez`, { signal: AbortSignal.timeout(PATIENCE_MS) })).status;

  beforeAll(async () => {
    laptop = await startTestPlatform();
    const { clusters } = parse((await laptop.kubectl("config", "view", "--raw")).output) as {
      clusters: { cluster: { server: string } }[];
    };
    const kubePort = Number(new URL(clusters[0]!.cluster.server).port);
    admin = apiAt(laptop.url, tokenOf(laptop, "admin"));
    await cup("login", "--api", laptop.url);
    await push("victim");
    await cup("create-org", "attackers");
    await cup("target", "--org", "attackers");
    await cup("create-space", "dev");
    await cup("target", "--space", "dev");
    await push("thief");
    attacker = await newUser(laptop, "attacker");
    token = tokenOf(laptop, "admin");
    for (const [port, tls] of [
      [laptop.port, false],
      [kubePort, true],
    ] as const)
      slow.push(startSlowClients({ port, tls, count: SLOW_CLIENTS }));
  }, 240_000);
  afterAll(async () => {
    for (const clients of slow) clients.stop();
    await laptop?.stop();
  });

  test("slow clients at every port do not delay others", async () => {
    expect(await livez()).toBe(200);
    expect((await admin.send("GET", "/v3/apps")).status).toBe(200);
    await expectServed("victim");
    expect((await laptop.kubectl("get", "apps.cupola.dev", "-A")).code).toBe(0);
  });

  test("an unknown Upgrade is ignored, and the body arrives", async () => {
    const h2c = "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n";
    const atApi = await sendRaw(laptop.rawPort, `GET /v3 HTTP/1.1\r\nHost: localhost:${laptop.port}\r\n${h2c}\r\n`, {
      deadlineMs: PATIENCE_MS,
    });
    expect(atApi.status).toBe(200);
    const atApp = await sendRaw(
      laptop.rawPort,
      `POST /echo HTTP/1.1\r\nHost: victim.apps.localhost:${laptop.port}\r\n${h2c}Content-Length: 5\r\n\r\nhello`,
      { deadlineMs: PATIENCE_MS },
    );
    expect(atApp.status).toBe(200);
    expect(atApp.text).toContain("hello");
  });

  test("a forged job is not found, and its text is never shown", async () => {
    const [app] = (await admin.call<Page<Named>>("GET", "/v3/apps?names=victim")).resources;
    const forged = [
      "app.delete~never-existed~tovt5n",
      `app.delete~${app!.guid}~tovt5n`,
      `space.apply_manifest~x~tovt5n~${Buffer.from('["call this number"]').toString("base64url")}`,
    ];
    for (const guid of forged) {
      const answer = await admin.send("GET", `/v3/jobs/${guid}`);
      expect([guid, answer.status, answer.text.includes("call this number")]).toEqual([guid, 404, false]);
    }
  });

  async function newPackage(): Promise<string> {
    const [app] = (await admin.call<Page<Named>>("GET", "/v3/apps?names=thief")).resources;
    const relationships = { app: { data: { guid: app!.guid } } };
    return (await admin.call("POST", "/v3/packages", { type: "bits", relationships })).guid;
  }

  async function upload(guid: string, archive: Buffer): Promise<ApiAnswer> {
    const body = new FormData();
    body.set("bits", new Blob([new Uint8Array(archive)]), "bits.zip");
    const answer = await request(`${laptop.url}/v3/packages/${guid}/upload`, {
      method: "POST",
      headers: { authorization: `bearer ${token}` },
      body,
      headersTimeout: PATIENCE_MS,
    });
    return { status: answer.statusCode, headers: answer.headers, text: await answer.body.text() };
  }

  test("a zip whose entries overlap is refused before it is unpacked", async () => {
    const answer = await upload(await newPackage(), overlappingZip(1_500, 700_000));
    expect(answer.status, answer.text).toBe(422);
    expect(errorsOf(answer)[0]?.title).not.toContain("Unknown");
  });

  test("half an upload leaves the package as it was, and a whole one is taken afterwards", async () => {
    const guid = await newPackage();
    const form = '--x\r\nContent-Disposition: form-data; name="bits"; filename="bits.zip"\r\n\r\nPK';
    await sendRaw(
      laptop.rawPort,
      `POST /v3/packages/${guid}/upload HTTP/1.1\r\nHost: localhost:${laptop.port}\r\nAuthorization: bearer ${token}\r\n` +
        `Content-Type: multipart/form-data; boundary=x\r\nContent-Length: 5000\r\n\r\n${form}`,
      { deadlineMs: PATIENCE_MS, halfClose: true },
    );
    expect((await admin.call<{ state: string }>("GET", `/v3/packages/${guid}`)).state).toBe("AWAITING_UPLOAD");
    const whole = zip([{ name: "index.js", content: Buffer.from(program("thief")) }]);
    expect((await upload(guid, whole)).status).toBe(200);
  });

  test("a Droplet that names another space's root neither reads nor replaces its files", async () => {
    const namespaceOf = async (app: string): Promise<string> =>
      (
        await laptop.kubectl(
          "get",
          "apps.cupola.dev",
          "-A",
          "-o",
          `jsonpath={.items[?(@.metadata.name=="${app}")].metadata.namespace}`,
        )
      ).output;
    const [mine, theirs] = [await namespaceOf("thief"), await namespaceOf("victim")];
    const dropletIn = async (namespace: string): Promise<Droplet> =>
      (
        JSON.parse((await laptop.kubectl("get", "droplets.cupola.dev", "-n", namespace, "-o", "json")).output) as {
          items: Droplet[];
        }
      ).items[0]!;
    const bind = ["--clusterrole=cupola-space-developer", `--serviceaccount=default:attacker`];
    expect((await laptop.kubectl("create", "rolebinding", "attacker", "-n", mine, ...bind)).code).toBe(0);
    const [own, foreign] = [await dropletIn(mine), await dropletIn(theirs)];
    for (const [name, content] of [
      ["own-files", own.spec.content],
      ["their-files", foreign.spec.content],
    ] as const) {
      const file = join(laptop.home, `${name}.json`);
      const spec = { ...own.spec, root: foreign.spec.root, content };
      writeFileSync(
        file,
        JSON.stringify({ apiVersion: own.apiVersion, kind: own.kind, metadata: { name, namespace: mine }, spec }),
      );
      await eventually(async () => {
        const { code, output } = await attacker.kubectl("apply", "-f", file);
        expect(code, output).toBe(0);
      });
      const start = JSON.stringify({ spec: { droplet: { name }, restart: name } });
      const patched = await attacker.kubectl(
        "patch",
        "apps.cupola.dev",
        "thief",
        "-n",
        mine,
        "--type=merge",
        "-p",
        start,
      );
      expect(patched.code, patched.output).toBe(0);
      await eventually(async () => {
        const { output } = await laptop.kubectl("get", "lrps.workloads.cupola.dev", "-n", mine, "-o", "json");
        expect(output).toMatch(/belongs to another droplet|not in this space|ContentMissing/);
        await expectServed("victim");
      });
      expect((await laptop.get("thief.apps.localhost")).body).not.toBe("victim");
    }
    await expectServed("victim");
  });

  uploadAndNameAttacks(() => ({ laptop, api: admin, token, attacker, namespace: "attackers-dev" }));

  tokenAndRouteServiceAttacks(() => ({ laptop, api: admin, attacker, push }));

  otherDoorAttacks(async () => {
    const guidOf = async (name: string): Promise<string> =>
      (await admin.call<Page<Named>>("GET", `/v3/apps?names=${name}`)).resources[0]?.guid ?? "";
    const apps = { victim: await guidOf("victim"), thief: await guidOf("thief") };
    return { laptop, api: admin, attacker, apps };
  });

  test("requests that an app never answers are bounded and delay no other app", async () => {
    const stopping = new AbortController();
    let refused = 0;
    const flood = Array.from({ length: 600 }, async () => {
      try {
        const { statusCode, body } = await request(`http://127.0.0.1:${laptop.port}/never`, {
          headers: { host: `victim.apps.localhost:${laptop.port}` },
          signal: stopping.signal,
          headersTimeout: 0,
        });
        await body.dump();
        if (statusCode === 503) refused++;
      } catch (error) {
        if (!stopping.signal.aborted) throw error;
      }
    });
    try {
      await eventually(() => expect(refused).toBeGreaterThan(0));
      expect(await livez()).toBe(200);
      expect((await admin.send("GET", "/v3/apps")).status).toBe(200);
    } finally {
      stopping.abort();
      await Promise.all(flood);
    }
    await eventually(() => expectServed("victim"));
  });

  test("who never finishes the headers is hung up on", { timeout: HEADERS_MS + 20_000 }, async () => {
    await eventually(() => {
      expect(slow.map((clients) => clients.open("half a header"))).toEqual([0, 0]);
      expect(slow.map((clients) => clients.open("nothing"))).toEqual([0, 0]);
    }, HEADERS_MS);
  });
});

// Whatever is thrown at the API, it answers 4xx in CF's words: never a 500, never a hang, and nothing of it goes where it should not.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import pLimit from "p-limit";
import { FormData, request } from "undici";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { SYSTEM_NAMESPACE } from "../../crds/groups.ts";
import { apiAt, errorsOf, guidOf, tokenOf, type Api, type ApiAnswer, type Named, type Page } from "./support/api.ts";
import { hostileArchives, zip } from "./bad-input/archives.ts";
import { attacks, type Attack, type OpenApi, UNKNOWN_GUID } from "./bad-input/attacks.ts";
import { isShutEarly, isShutToFront } from "./bad-input/shut-door.ts";
import { sendRaw } from "./bad-input/raw-http.ts";
import { chosenPlatformKind, startTestPlatform } from "./support/start-test-platform.ts";
import type { TestPlatform } from "./support/test-platform.ts";

const PATIENCE_MS = 20_000;
const isBehindFront = chosenPlatformKind() === "node";

describe("bad input", () => {
  let stage: TestPlatform;
  let token: string;
  let api: Api;
  let space: string;
  let app: string;
  const guids: Record<string, string> = {};

  beforeAll(async () => {
    stage = await startTestPlatform();
    token = tokenOf(stage, "admin");
    api = apiAt(stage.url, token);
    space = await guidOf(stage, "spaces.cupola.dev/dev", "local");
    ({ guid: app } = await api.call("POST", "/v3/apps", {
      name: "victim",
      relationships: { space: { data: { guid: space } } },
    }));
    const first = async (path: string): Promise<string> =>
      (await api.call<Page<Named>>("GET", path)).resources[0]?.guid ?? UNKNOWN_GUID;
    const domain = await guidOf(stage, "domains.cupola.dev/apps.localhost", "cupola-system");
    const related = { space: { data: { guid: space } }, domain: { data: { guid: domain } } };
    const route = (await api.call("POST", "/v3/routes", { host: "victim", relationships: related })).guid;
    Object.assign(guids, { apps: app, spaces: space, packages: await newPackage(), domains: domain, routes: route });
    for (const list of ["organizations", "processes", "buildpacks", "stacks", "roles", "organization_quotas", "users"])
      guids[list] = await first(`/v3/${list}`);
  });
  afterAll(() => stage?.stop());
  // A fault of ours is in the log even where the answer hid it.
  afterEach(async () => expect(faults(await readLog())).toEqual([]));

  async function readLog(): Promise<string> {
    if (stage.on !== "node") return readFileSync(join(stage.home, "cupola.log"), "utf8");
    const pods = ["-n", SYSTEM_NAMESPACE, "-l", "app.kubernetes.io/component=api", "--tail=-1"];
    const { code, output } = await stage.kubectl("logs", ...pods);
    expect(code, output.slice(-400)).toBe(0);
    return output;
  }

  async function newPackage(): Promise<string> {
    return (await api.call("POST", "/v3/packages", { type: "bits", relationships: { app: { data: { guid: app } } } }))
      .guid;
  }

  async function attack({
    method,
    path,
    body,
    contentType = "application/json",
    headers = {},
  }: Attack): Promise<ApiAnswer> {
    const answer = await request(`${stage.url}${path}`, {
      method: method as "GET",
      headers: {
        authorization: `bearer ${token}`,
        ...(body !== undefined && method !== "GET" && { "content-type": contentType }),
        ...headers,
      },
      ...(body !== undefined && method !== "GET" && { body }),
      headersTimeout: PATIENCE_MS,
      bodyTimeout: PATIENCE_MS,
    });
    return { status: answer.statusCode, headers: answer.headers, text: await answer.body.text() };
  }

  /** Fault of the answer; undefined when there is none. */
  async function wrongWith(one: Attack): Promise<string | undefined> {
    const name = `${one.method} ${one.path.slice(0, 120)} with ${one.what}`;
    try {
      const answer = await attack(one);
      if (isShutToFront(one, answer)) return undefined;
      if (answer.status >= 500 || (one.mustRefuse && answer.status < 400))
        return `${name}: ${answer.status} ${answer.text.slice(0, 200)}`;
      if (answer.status >= 400) checkErrorShape(one.path, answer);
      return undefined;
    } catch (error) {
      if (isShutEarly(one, error)) return undefined;
      return `${name}: ${error instanceof Error ? error.message : String(error)}`;
    }
  }

  async function faultsOf(all: readonly Attack[]): Promise<string[]> {
    const limit = pLimit(8);
    return (await Promise.all(all.map((one) => limit(() => wrongWith(one))))).filter((fault) => fault !== undefined);
  }

  test("at every endpoint of the OpenAPI document", async () => {
    const document = await api.call<OpenApi>("GET", "/v3/openapi.json");
    const all = attacks(document, (path) => guids[/^\/v3\/(\w+)\/\{/.exec(path)?.[1] ?? ""]);
    expect(all.length).toBeGreaterThan(500);
    const faults = await faultsOf(all);
    expect(faults.slice(0, 40), `${faults.length} of ${all.length}`).toEqual([]);
  });

  test("manifests: bombs, anchors, tags, nonsense", async () => {
    const bomb = [
      "a: &a [x,x,x,x,x,x,x,x,x]",
      ..."bcdefghi".split("").map((name, at) => `${name}: &${name} [${Array(9).fill(`*${"abcdefgh"[at]}`).join(",")}]`),
    ].join("\n");
    const manifests: Record<string, string> = {
      "a YAML bomb": bomb,
      anchors: "applications:\n- &a { name: a }\n- *a\n",
      "merge keys": "x: &x { memory: 1G }\napplications:\n- name: a\n  <<: *x\n",
      "a custom tag": "applications: !!js/function 'return 1'\n",
      "a broken document": "applications: [",
      "two documents": "applications: []\n---\napplications: []\n",
      "a text": "applications",
      "a list": "- a\n",
      "applications that are a number": "applications: 1\n",
      "an application without a name": "applications:\n- memory: 1G\n",
      "a name that is a list": "applications:\n- name: [a]\n",
      "a memory that is nonsense": "applications:\n- name: a\n  memory: lots\n",
      "negative instances": "applications:\n- name: a\n  instances: -1\n",
      "a route that is nonsense": "applications:\n- name: a\n  routes: [{ route: '::::' }]\n",
      "deep nesting": `applications: ${"[".repeat(50_000)}`,
      "deep dashes": `applications:\n${"- ".repeat(50_000)}a\n`,
      "two megabytes": `applications:\n- name: ${"a".repeat(2_000_000)}\n`,
      "a NUL": 'applications:\n- name: "a\\0b"\n  memory: 1X\n',
      nothing: "",
    };
    const posts = ["actions/apply_manifest", "manifest_diff"].flatMap((action) =>
      Object.entries(manifests).map(([what, body]): Attack => ({
        what,
        method: "POST",
        path: `/v3/spaces/${space}/${action}`,
        body,
        contentType: "application/x-yaml",
        mustRefuse: true,
      })),
    );
    expect(await faultsOf(posts)).toEqual([]);
    expect((await api.call<Page<Named>>("GET", "/v3/apps")).resources.map(({ name }) => name)).toEqual(["victim"]);
  });

  test("uploads: bombs, paths and links out, lies", async () => {
    const escape = join(stage.home, "escaped");
    for (const [what, archive] of hostileArchives(escape)) {
      const answer = await upload(await newPackage(), archive);
      expect(answer.status, `${what}: ${answer.status} ${answer.text}`).toSatisfy(
        (status: number) => status >= 400 && status < 500,
      );
      expect(errorsOf(answer)[0]?.detail, what).not.toContain("cupola-package-");
    }
    expect(existsSync(escape)).toBe(false);
    expect(
      (await api.call<Page<{ state: string }>>("GET", "/v3/packages?per_page=100")).resources.map(({ state }) => state),
    ).toSatisfy((states: string[]) => states.every((state) => state === "AWAITING_UPLOAD"));
  });

  test("uploads that are no form", async () => {
    const guid = await newPackage();
    const path = `/v3/packages/${guid}/upload`;
    const form = (body: string | Buffer, contentType = "multipart/form-data; boundary=x"): Attack => ({
      what: `a form ${body.toString("latin1").slice(0, 60)}`,
      method: "POST",
      path,
      body,
      contentType,
      mustRefuse: true,
    });
    const part = (name: string, content: string, more = ""): string =>
      `--x\r\nContent-Disposition: form-data; name="${name}"${more}\r\n\r\n${content}\r\n`;
    expect(
      await faultsOf([
        form("{}", "application/json"),
        form("nothing", "multipart/form-data"),
        form("", "multipart/form-data; boundary=x"),
        form("--x"),
        form("--x--\r\n"),
        form(part("bits", "PK", '; filename="a.zip"')),
        form(`${part("nonsense", "1")}--x--\r\n`),
        form(`${part("resources", "[]")}--x--\r\n`),
        form(`${part("resources", "{")}--x--\r\n`),
        form(`${part("resources", '[{"sha1":"x"}]')}--x--\r\n`),
        form(`${part("resources", `[{"fn":"../../a","sha1":"${"0".repeat(40)}","size":1}]`)}--x--\r\n`),
        form(`${part("a", "1").repeat(5000)}--x--\r\n`),
        form(`--x\r\n${"X-Header: a\r\n".repeat(20_000)}\r\n\r\n--x--\r\n`),
        form(`${part("bits", "PK", `; filename="${"a".repeat(100_000)}"`)}--x--\r\n`),
        form(Buffer.alloc(200_000, "--x\r\n")),
      ]),
    ).toEqual([]);
    // After all that the package still takes what it is for.
    expect((await upload(guid, zip([{ name: "index.js", content: Buffer.from("1\n") }]))).status).toBe(200);
  });

  async function upload(guid: string, archive: Buffer): Promise<ApiAnswer> {
    const body = new FormData();
    body.set("bits", new Blob([new Uint8Array(archive)]), "bits.zip");
    const answer = await request(`${stage.url}/v3/packages/${guid}/upload`, {
      method: "POST",
      headers: { authorization: `bearer ${token}` },
      body,
      headersTimeout: PATIENCE_MS,
    });
    return { status: answer.statusCode, headers: answer.headers, text: await answer.body.text() };
  }

  // On a node a proxy of the tests is what reads them.
  test.skipIf(isBehindFront)("bytes that are no HTTP", async () => {
    const head = `Host: localhost:${stage.port}\r\nAuthorization: bearer ${token}\r\n`;
    const nasty: Record<string, string> = {
      noise: "\u0000\u0001\u0002\r\n\r\n",
      "TLS on a plain port": "\u0016\u0003\u0001\u0002\u0000\u0001\u0000\u0001\u00fc\u0003\u0003\r\n\r\n",
      "HTTP/2's preface": "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
      "no version": "GET /v3/apps\r\n\r\n",
      "a version of tomorrow": `GET /v3/apps HTTP/9.9\r\n${head}\r\n`,
      "an unknown method": `PURGE /v3/apps HTTP/1.1\r\n${head}\r\n`,
      "a method that nobody has": `STEAL /v3/apps HTTP/1.1\r\n${head}\r\n`,
      TRACE: `TRACE /v3/apps HTTP/1.1\r\n${head}\r\n`,
      CONNECT: `CONNECT localhost:22 HTTP/1.1\r\n${head}\r\n`,
      "OPTIONS of all": `OPTIONS * HTTP/1.1\r\n${head}\r\n`,
      "an address of elsewhere": `GET http://example.com/v3/apps HTTP/1.1\r\nHost: example.com\r\n\r\n`,
      "no host": "GET /v3/apps HTTP/1.1\r\n\r\n",
      "two hosts": `GET /v3/apps/${UNKNOWN_GUID} HTTP/1.1\r\n${head}Host: other\r\n\r\n`,
      "a host that is none": "GET /v3/apps HTTP/1.1\r\nHost: <script>\r\n\r\n",
      "a long path": `GET /v3/${"a".repeat(100_000)} HTTP/1.1\r\n${head}\r\n`,
      "a path that climbs": `GET /v3/../../../etc/passwd HTTP/1.1\r\n${head}\r\n`,
      "huge headers": `GET /v3/apps HTTP/1.1\r\n${head}X-Big: ${"a".repeat(200_000)}\r\n\r\n`,
      "many headers": `GET /v3/apps/${UNKNOWN_GUID} HTTP/1.1\r\n${head}${"X-A: b\r\n".repeat(5000)}\r\n`,
      "two lengths": `POST /v3/apps HTTP/1.1\r\n${head}Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}`,
      "a length and chunks": `POST /v3/apps HTTP/1.1\r\n${head}Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
      "a negative length": `POST /v3/apps HTTP/1.1\r\n${head}Content-Length: -1\r\n\r\n`,
      "a chunk that is none": `POST /v3/apps HTTP/1.1\r\n${head}Transfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n`,
      "an expectation": `POST /v3/apps HTTP/1.1\r\n${head}Expect: a-miracle\r\nContent-Length: 2\r\n\r\n{}`,
      "a header with a line feed": `GET /v3/apps HTTP/1.1\r\n${head}X-A: b\nX-C\r\n\r\n`,
    };
    const answers = await Promise.all(
      Object.entries(nasty).map(async ([what, bytes]) => ({
        what,
        ...(await sendRaw(stage.rawPort, Buffer.from(bytes, "latin1"), { deadlineMs: PATIENCE_MS })),
      })),
    );
    expect(answers.filter(({ status }) => status !== undefined && (status < 400 || status >= 500))).toEqual([]);
    expect(answers.filter(({ text }) => text.includes("at Object.") || text.includes("node:internal"))).toEqual([]);
  });

  test.skipIf(isBehindFront)("a WebSocket at the API is a plain request: the Upgrade is ignored", async () => {
    const upgrade = `Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n`;
    const request = `GET /v3/apps HTTP/1.1\r\nHost: localhost:${stage.port}\r\nAuthorization: bearer ${token}\r\n${upgrade}\r\n`;
    const answer = await sendRaw(stage.rawPort, request, { deadlineMs: PATIENCE_MS });
    expect(answer.status).toBe(200);
  });

  test.skipIf(isBehindFront)("bodies that end early", async () => {
    const head = `Host: localhost:${stage.port}\r\nAuthorization: bearer ${token}\r\n`;
    const cut = [
      `POST /v3/apps HTTP/1.1\r\n${head}Content-Length: 5000\r\n\r\n{"name"`,
      `POST /v3/packages/${await newPackage()}/upload HTTP/1.1\r\n${head}Content-Type: multipart/form-data; boundary=x\r\nContent-Length: 5000\r\n\r\n--x\r\nContent-Disposition: form-data; name="bits"; filename="a"\r\n\r\nPK`,
      `POST /v3/apps HTTP/1.1\r\n${head}Transfer-Encoding: chunked\r\n\r\n5\r\n{"nam\r\n`,
      `POST /v3/apps HTTP/1.1\r\n${head}Transfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n{}\r\n0\r\n\r\n`,
      `GET /v3/apps HTTP/1.1\r\n${head}`,
    ];
    const answers = await Promise.all(
      cut.map((bytes) => sendRaw(stage.rawPort, bytes, { deadlineMs: PATIENCE_MS, halfClose: true })),
    );
    expect(answers.filter(({ status }) => status !== undefined && (status < 400 || status >= 500))).toEqual([]);
    expect((await api.send("GET", "/v3/apps")).status).toBe(200);
  });
});

/** CF's shape; at UAA's paths UAA's, once the request is readable. @throws Error when the answer has neither */
function checkErrorShape(path: string, answer: ApiAnswer): void {
  const { error, error_description } = JSON.parse(answer.text) as Record<string, unknown>;
  const isUAA = typeof error === "string" && typeof error_description === "string";
  if (!isUAA || !/^\/(Users|oauth|check_token)\b/.test(path)) errorsOf(answer);
}

/** Log lines of level error and above. */
function faults(log: string): string[] {
  return log.split("\n").filter((line) => /"level":"(error|fatal)"/.test(line));
}

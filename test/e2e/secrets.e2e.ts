// A password given to an app is in its Secrets and its processes, and nowhere else: no noun, no event, no log, no error.
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { apiAt, tokenOf, type Api, type Named, type Page } from "./support/api.ts";
import { cfOn, whyNoCf } from "./support/cf.ts";
import { eventually } from "../eventually.ts";
import { startTestPlatform } from "./support/start-test-platform.ts";
import type { TestPlatform } from "./support/test-platform.ts";

const PASSWORDS = {
  created: "hunter2-by-create",
  patched: "hunter2-by-patch",
  manifest: "hunter2-by-manifest",
  cf: "hunter2-by-cf",
  refused: "hunter2-refused",
  registry: "hunter2-of-a-registry",
};
const ALL = Object.values(PASSWORDS);

describe("secrets", () => {
  let stage: TestPlatform;
  let api: Api;
  let space: string;
  let app: string;
  const errors: string[] = [];

  beforeAll(async () => {
    stage = await startTestPlatform();
    api = apiAt(stage.url, tokenOf(stage, "admin"));
    space = (await api.call<Page<Named>>("GET", "/v3/spaces?names=dev")).resources[0]?.guid ?? "";
  });
  afterAll(() => stage?.stop());

  /** Which of the passwords a text holds, as they are or as base64. */
  function found(text: string): string[] {
    return ALL.filter((password) =>
      [password, Buffer.from(password).toString("base64").replace(/=+$/, "")].some((form) => text.includes(form)),
    );
  }

  test("passwords come by create, manifest, patch and set-env, and run", async () => {
    const folder = join(stage.home, "app");
    mkdirSync(folder);
    writeFileSync(
      join(folder, "index.js"),
      'require("http").createServer((q, s) => s.end(JSON.stringify(process.env))).listen(process.env.PORT);\n',
    );
    writeFileSync(join(folder, "package.json"), '{"name":"keeper","version":"1.0.0"}\n');
    writeFileSync(join(folder, "Procfile"), "web: node index.js\n");
    writeFileSync(
      join(folder, "manifest.yml"),
      `applications:\n- name: keeper\n  memory: 64M\n  env: { FROM_MANIFEST: ${PASSWORDS.manifest} }\n`,
    );
    ({ guid: app } = await api.call("POST", "/v3/apps", {
      name: "keeper",
      environment_variables: { FROM_CREATE: PASSWORDS.created },
      relationships: { space: { data: { guid: space } } },
    }));
    await api.call("PATCH", `/v3/apps/${app}/environment_variables`, { var: { FROM_PATCH: PASSWORDS.patched } });
    await logIn();
    const { code, output } = await stage.cup("push", "-f", join(folder, "manifest.yml"), "-p", folder);
    expect(code, output).toBe(0);
    expect(found(output)).toEqual([]);
    if (!whyNoCf()) await setByCf();
    else await api.call("PATCH", `/v3/apps/${app}/environment_variables`, { var: { FROM_CF: PASSWORDS.cf } });
    await api.call("POST", `/v3/apps/${app}/actions/restart`);
    await eventually(async () =>
      expect(JSON.parse((await stage.get("keeper.apps.localhost")).body)).toMatchObject({
        FROM_CREATE: PASSWORDS.created,
        FROM_MANIFEST: PASSWORDS.manifest,
        FROM_PATCH: PASSWORDS.patched,
        FROM_CF: PASSWORDS.cf,
      }),
    );
  });

  async function logIn(): Promise<void> {
    for (const args of [
      ["login", "--api", stage.url, "--user", "admin"],
      ["target", "-o", "local", "-s", "dev"],
    ]) {
      const { code, output } = await stage.cup(...args);
      expect(code, output).toBe(0);
    }
  }

  async function setByCf(): Promise<void> {
    const cf = cfOn(stage);
    for (const args of [
      ["api", stage.url],
      ["auth", "admin"],
      ["target", "-o", "local", "-s", "dev"],
      ["set-env", "keeper", "FROM_CF", PASSWORDS.cf],
    ]) {
      const { code, output } = await cf(...args);
      expect(code, output).toBe(0);
    }
  }

  test("refusals do not repeat the refused value", async () => {
    const bodies: [string, string, object | string][] = [
      ["PATCH", `/v3/apps/${app}/environment_variables`, { var: { VCAP_SECRET: PASSWORDS.refused } }],
      ["PATCH", `/v3/apps/${app}/environment_variables`, { var: { "": PASSWORDS.refused } }],
      ["PATCH", `/v3/apps/${app}/environment_variables`, { var: { BIG: PASSWORDS.refused.repeat(40_000) } }],
      ["PATCH", `/v3/apps/${app}/environment_variables`, { var: PASSWORDS.refused }],
      ["PATCH", `/v3/apps/${app}/environment_variables`, `{"var":{"A":"${PASSWORDS.refused}"`],
      ["PATCH", `/v3/apps/${app}/environment_variables`, `{"var":{"A":"${PASSWORDS.refused}"},"x":1}`],
      [
        "POST",
        "/v3/apps",
        {
          name: "keeper",
          environment_variables: { A: PASSWORDS.refused },
          relationships: { space: { data: { guid: space } } },
        },
      ],
      [
        "POST",
        "/v3/packages",
        {
          type: "docker",
          data: { image: "example.com/a", username: "me", password: PASSWORDS.registry },
          relationships: { app: { data: { guid: app } } },
        },
      ],
    ];
    for (const [method, path, body] of bodies) {
      const { status, text } = await api.send(method, path, body);
      expect(status, text).toSatisfy((code: number) => code >= 400 && code < 500);
      errors.push(text);
    }
    // A door that does not take passwords must not repeat one, either.
    errors.push((await apiAt(stage.url, PASSWORDS.refused).send("GET", "/v3/apps")).text);
    expect(found(errors.join("\n"))).toEqual([]);
  });

  test("a registry's password is in its Secret alone", async () => {
    const { guid } = await api.call("POST", "/v3/apps", {
      name: "image",
      lifecycle: { type: "docker", data: {} },
      relationships: { space: { data: { guid: space } } },
    });
    const answer = await api.send("POST", "/v3/packages", {
      type: "docker",
      data: { image: "example.com/a", username: "me", password: PASSWORDS.registry },
      relationships: { app: { data: { guid } } },
    });
    expect(answer.status, answer.text).toBe(201);
    expect(found(answer.text)).toEqual([]);
  });

  test("no object but a Secret holds one", async () => {
    const kinds = (await stage.kubectl("api-resources", "--verbs=list", "-o", "name")).output
      .trim()
      .split("\n")
      .filter((kind) => kind !== "secrets");
    expect(kinds).toContain("revisions.cupola.dev");
    const { code, output } = await stage.kubectl("get", kinds.join(","), "-A", "-o", "yaml");
    expect(code, output.slice(-500)).toBe(0);
    expect(output).toContain("kind: LRP");
    expect(found(output)).toEqual([]);
    expect(found((await stage.kubectl("get", "secrets", "-A", "-o", "yaml")).output)).toEqual(
      ALL.filter((password) => password !== PASSWORDS.refused && password !== PASSWORDS.registry),
    );
  });

  test("no log holds one", async () => {
    const recent = await api.call<object>("GET", `/api/v1/read/${app}?limit=1000&descending=true`);
    const lines = JSON.stringify(recent, (_key, value: unknown) =>
      typeof value === "string" && /^[A-Za-z0-9+/]+=*$/.test(value)
        ? Buffer.from(value, "base64").toString("utf8")
        : value,
    );
    expect(lines).toContain("Staging");
    expect(found(lines)).toEqual([]);
    const logs = readdirSync(stage.home, { recursive: true, withFileTypes: true }).filter(
      (entry) => entry.isFile() && /\.(log|txt|json)$/.test(entry.name),
    );
    expect(logs.map(({ name }) => name)).toContain("cupola.log");
    for (const { parentPath, name } of logs)
      expect(found(readFileSync(join(parentPath, name), "utf8")), join(parentPath, name)).toEqual([]);
  });
});

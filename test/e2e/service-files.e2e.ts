// Bound services as files, by the app features of Cloud Foundry: what a process and a task find, and that nothing is left of them.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { eventually } from "../eventually.ts";
import { startTestPlatform } from "./support/start-test-platform.ts";
import type { TestPlatform } from "./support/test-platform.ts";

/** Answers with the file that the path names, below the folder of bindings, or with a variable. */
const SERVER = `
const { readFileSync } = require("fs");
const { SERVICE_BINDING_ROOT = "", VCAP_SERVICES_FILE_PATH = "", VCAP_SERVICES = "none" } = process.env;
require("http").createServer((request, response) => {
  const answers = { "/vcap": () => VCAP_SERVICES, "/file": () => readFileSync(VCAP_SERVICES_FILE_PATH, "utf8") };
  try { response.end((answers[request.url] ?? (() => readFileSync(SERVICE_BINDING_ROOT + request.url, "utf8")))()); }
  catch (error) { response.statusCode = 404; response.end(error.code); }
}).listen(process.env.PORT);
`;

let stage: TestPlatform;
let guid: string;

beforeAll(async () => {
  stage = await startTestPlatform();
  await cup("login", "--api", stage.url, "--user", "admin");
  await cup("target", "-o", "local", "-s", "dev");
  const folder = join(stage.home, "files");
  mkdirSync(folder);
  writeFileSync(join(folder, "server.js"), SERVER);
  await cup("push", "files", "--path", folder, "-m", "96M");
  guid = (await stage.cupJson<{ guid: string }>("app", "files")).guid;
  const credentials = '{"uri": "postgres://u:p@h/d", "port": 5432}';
  await cup("create-user-provided-service", "db", "--credentials", credentials, "--tags", "sql");
  await cup("bind", "files", "db", "--name", "main");
});
afterAll(() => stage?.stop());

async function cup(...args: string[]): Promise<string> {
  const { code, output } = await stage.cup(...args);
  expect(code, `cup ${args.join(" ")}\n${output}`).toBe(0);
  return output;
}

async function switchFeature(name: string, enabled: boolean): Promise<void> {
  await cup("curl", "-X", "PATCH", `/v3/apps/${guid}/features/${name}`, "-d", JSON.stringify({ enabled }));
}

async function untilAnswer(path: string, expected: string): Promise<void> {
  await eventually(async () => expect((await stage.get("files.apps.localhost", path)).body).toBe(expected));
}

test("with service-binding-k8s there is a folder for each binding", async () => {
  await switchFeature("service-binding-k8s", true);
  await cup("restart", "files");
  await untilAnswer("/main/uri", "postgres://u:p@h/d");
  await untilAnswer("/main/port", "5432");
  await untilAnswer("/main/type", "user-provided");
  await untilAnswer("/main/tags", '["sql"]');
  await untilAnswer("/vcap", "none");
  expect(
    await cup("run", "files", "--", 'cat "$SERVICE_BINDING_ROOT/main/port"; ls -A "$SERVICE_BINDING_ROOT"'),
  ).toMatch(/5432[^]*main/);
});

test("with file-based-vcap-services there is a file", async () => {
  await switchFeature("service-binding-k8s", false);
  await switchFeature("file-based-vcap-services", true);
  await cup("restart", "files");
  await eventually(async () => {
    const { body } = await stage.get("files.apps.localhost", "/file");
    expect(JSON.parse(body)).toMatchObject({ "user-provided": [{ name: "main", credentials: { port: 5432 } }] });
  });
  await untilAnswer("/vcap", "none");
  await cup("unbind", "files", "db");
  await cup("restart", "files");
  await untilAnswer("/file", "{}");
});

test("a name that is no folder is told, and the app starts once it is mended", async () => {
  await switchFeature("file-based-vcap-services", false);
  await switchFeature("service-binding-k8s", true);
  await cup("bind", "files", "db", "--name", "Main DB");
  const { code, output } = await stage.cup("restart", "files");
  expect(code).not.toBe(0);
  expect(output).toContain("the binding name 'Main DB' is no name of a folder");
  await cup("unbind", "files", "db");
  await cup("bind", "files", "db", "--name", "db");
  await cup("restart", "files");
  await untilAnswer("/db/port", "5432");
});

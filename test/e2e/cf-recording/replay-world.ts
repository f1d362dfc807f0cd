// World of recorded cases when they are sent again: their org, space and people, and a droplet.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { request } from "undici";
import { expect } from "vitest";
import { ServiceAccount } from "../../../kube/api/builtin.ts";
import { createClient } from "../../../kube/client/create-client.ts";
import { makeForm } from "../cf-traffic/form.ts";
import { giveRole, makePlaces } from "../cf/support/places.ts";
import { WHO, type Who } from "../cf/support/who.ts";
import { eventually } from "../../eventually.ts";
import { apiAt, tokenOf, type Api } from "../support/api.ts";
import { serverOf } from "../support/replica-process.ts";
import type { TestPlatform } from "../support/test-platform.ts";
import { GROUND_NAMES } from "./replay-file.ts";
import type { Uploads } from "./templates.ts";
import { makeContent, type UploadContent } from "./upload-content.ts";

const HELLO = join(import.meta.dirname, "..", "..", "..", "examples", "hello");

/** A build in a pod pulls its images first. */
const STAGE_MS = 200_000;

export interface World {
  url: string;
  tokens: Partial<Record<Who, string>>;
  /** Meanings of names in every case. */
  names: ReadonlyMap<string, string>;
}

/** Objects that `layGround` makes for the cases, without a cf; and a droplet. */
export async function makeWorld(stage: TestPlatform, uploads: Uploads): Promise<World> {
  const adminToken = tokenOf(stage, "admin");
  const admin = apiAt(stage.url, adminToken);
  const kubernetes = createClient({ ...serverAccess(stage), auth: { kind: "token", token: adminToken } });
  const places = await makePlaces(admin);
  const tokens: Partial<Record<Who, string>> = { admin: adminToken };
  const namespace = "default";
  for (const who of WHO) {
    if (who === "admin") continue;
    await kubernetes.create(ServiceAccount, { metadata: { namespace, name: who } });
    const path = `/api/v1/namespaces/${namespace}/serviceaccounts/${who}/token`;
    const made = await kubernetes.raw("POST", path, {
      apiVersion: "authentication.k8s.io/v1",
      kind: "TokenRequest",
      spec: {},
    });
    tokens[who] = (made as { status: { token: string } }).status.token;
    await giveRole(admin, `system:serviceaccount:${namespace}:${who}`, { who, ...places });
  }
  await kubernetes.close();
  const names = new Map([
    ["url", stage.url],
    [GROUND_NAMES.org, places.orgGUID],
    [GROUND_NAMES.space, places.spaceGUID],
    [GROUND_NAMES.domain, places.domainGUID],
    [GROUND_NAMES.droplet, await stageHello(stage.url, { admin, adminToken, space: places.spaceGUID, uploads })],
  ]);
  return { url: stage.url, tokens, names };
}

function serverAccess(stage: TestPlatform): { server: string; ca: string } {
  const { url, ca } = serverOf(stage);
  return { server: url, ca };
}

/** @returns the GUID of its droplet */
async function stageHello(
  url: string,
  { admin, adminToken, space, uploads }: { admin: Api; adminToken: string; space: string; uploads: Uploads },
): Promise<string> {
  const relationships = { space: { data: { guid: space } } };
  const app = await admin.call("POST", "/v3/apps", { name: "base", relationships });
  const ofApp = { app: { data: { guid: app.guid } } };
  const bits = await admin.call("POST", "/v3/packages", { type: "bits", relationships: ofApp });
  const { statusCode, body } = await request(`${url}/v3/packages/${bits.guid}/upload`, {
    method: "POST",
    headers: { authorization: `bearer ${adminToken}` },
    body: await makeForm([{ name: "bits", filename: "package.zip" }], () => makeContent(withAllFiles(uploads))),
  });
  expect(statusCode, await body.text()).toBe(200);
  await eventually(async () =>
    expect(await admin.call("GET", `/v3/packages/${bits.guid}`)).toMatchObject({ state: "READY" }),
  );
  const build = await admin.call("POST", "/v3/builds", { package: { guid: bits.guid } });
  return await eventually(async () => {
    const built = await admin.call<{ state: string; droplet?: { guid: string } }>("GET", `/v3/builds/${build.guid}`);
    expect(built.state).toBe("STAGED");
    return built.droplet?.guid ?? "";
  }, STAGE_MS);
}

/** examples/hello, and every file that a case uploads: the platform knows it then, as when the cases were recorded one after another. */
function withAllFiles(uploads: Uploads): UploadContent {
  const hello = readdirSync(HELLO).map((name) => [name, { text: readFileSync(join(HELLO, name), "utf8") }] as const);
  const others = Object.entries(uploads).flatMap(([key, content]) =>
    "files" in content
      ? Object.values(content.files).map(({ text }, at) => [`of-cases/${key}-${at}`, { text }] as const)
      : [],
  );
  return { files: Object.fromEntries([...hello, ...others]) };
}

// Sends the requests of recorded cases again: statuses, what writes answer, refusals word by word, and the states that cf waited for are as they were.
import { join } from "node:path";
import { request } from "undici";
import { beforeAll, describe, expect, test } from "vitest";
import { ServiceAccount } from "../../../kube/api/builtin.ts";
import { createClient } from "../../../kube/client/create-client.ts";
import { makeForm } from "../cf-traffic/form.ts";
import { fill, match, type Difference } from "../cf-traffic/match.ts";
import type { RecordedRequest, Template } from "../cf-traffic/traffic.ts";
import { giveRole, makePlaces } from "../cf/support/places.ts";
import { WHO, type Who } from "../cf/support/who.ts";
import { eventually } from "../../eventually.ts";
import { apiAt, tokenOf, type Api } from "../support/api.ts";
import { serverOf } from "../support/replica-process.ts";
import { chosenPlatformKind } from "../support/start-test-platform.ts";
import type { TestPlatform } from "../support/test-platform.ts";
import { GROUND_NAMES, readReplay, type ReplayedExchange } from "./replay-file.ts";

const HELLO = join(import.meta.dirname, "..", "..", "..", "examples", "hello");
/** Answers that differ from run to run: a task without a name gets a random one, and files may be known already. */
const UNLIKE = /\/tasks$|^\/v3\/resource_matches$/;
/** What cf waits for may take so long on a busy machine. */
const STATE_MS = 30_000;

interface World {
  url: string;
  tokens: Partial<Record<Who, string>>;
  /** What names stand for in every case. */
  names: ReadonlyMap<string, string>;
}

/** One test for each case, on a laptop's platform that has the org of the cases not yet. */
export function describeReplay(stage: () => TestPlatform): void {
  describe.runIf(chosenPlatformKind() === "laptop")("recorded cases", () => {
    let world: World;
    beforeAll(async () => {
      world = await makeWorld(stage());
    });
    for (const { name, exchanges } of readReplay())
      test(name, async () => {
        let names = world.names;
        for (const exchange of exchanges) names = await replay(world, exchange, names);
      });
  });
}

/** @returns the names that are known after it */
async function replay(
  world: World,
  exchange: ReplayedExchange,
  names: ReadonlyMap<string, string>,
): Promise<ReadonlyMap<string, string>> {
  const { method, path } = exchange.request;
  const learnt = new Map(names);
  const once = async (): Promise<void> => {
    const found = await send(world, exchange, names);
    expect(differencesOf(exchange, found, learnt), `${method} ${fill(path, names)}`).toEqual([]);
  };
  await (exchange.state === undefined ? once() : eventually(once, STATE_MS));
  return learnt;
}

interface Answer {
  status: number;
  location: string;
  body: unknown;
}

function differencesOf(
  { request: asked, status, state, body, location }: ReplayedExchange,
  found: Answer,
  learnt: Map<string, string>,
): Difference[] {
  const isExact = (asked.method !== "GET" && !UNLIKE.test(asked.path)) || status >= 400;
  const ofBody = body === undefined || found.status !== status ? [] : match(body, found.body, learnt);
  return [
    ...match(status, found.status, learnt, "status"),
    ...(location === undefined ? [] : match(location, found.location, learnt, "location")),
    ...(state === undefined ? [] : match(state, (found.body as { state?: string }).state, learnt, "state")),
    // A list may show what other cases have made.
    ...(isExact ? ofBody : []),
  ];
}

async function send(
  { url, tokens }: World,
  { as, request: asked }: ReplayedExchange,
  names: ReadonlyMap<string, string>,
): Promise<Answer> {
  const token = as && tokens[as];
  const { contentType } = asked;
  const body = await bodyOf(asked, names);
  const {
    statusCode,
    headers,
    body: answer,
  } = await request(`${url}${fill(asked.path, names)}`, {
    method: asked.method as "GET",
    headers: {
      ...(token && { authorization: `bearer ${token}` }),
      ...(contentType && { "content-type": contentType }),
    },
    ...(body !== undefined && { body }),
    headersTimeout: 30_000,
    bodyTimeout: 30_000,
  });
  const text = await answer.text();
  return { status: statusCode, location: String(headers["location"] ?? ""), body: parse(text) };
}

async function bodyOf(
  { body, form }: RecordedRequest,
  names: ReadonlyMap<string, string>,
): Promise<string | Awaited<ReturnType<typeof makeForm>> | undefined> {
  if (form) return await makeForm(form, HELLO);
  if (body === undefined) return undefined;
  const filled: Template = fill(body, names);
  return typeof filled === "string" ? filled : JSON.stringify(filled);
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** What `layGround` makes for the cases, without a cf; and a droplet. */
async function makeWorld(stage: TestPlatform): Promise<World> {
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
    [GROUND_NAMES.droplet, await stageHello(stage.url, { admin, adminToken, space: places.spaceGUID })],
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
  { admin, adminToken, space }: { admin: Api; adminToken: string; space: string },
): Promise<string> {
  const relationships = { space: { data: { guid: space } } };
  const app = await admin.call("POST", "/v3/apps", { name: "base", relationships });
  const ofApp = { app: { data: { guid: app.guid } } };
  const bits = await admin.call("POST", "/v3/packages", { type: "bits", relationships: ofApp });
  const { statusCode, body } = await request(`${url}/v3/packages/${bits.guid}/upload`, {
    method: "POST",
    headers: { authorization: `bearer ${adminToken}` },
    body: await makeForm([{ name: "bits", filename: "package.zip" }], HELLO),
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
  }, 60_000);
}

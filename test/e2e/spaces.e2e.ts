// A space can be pushed to the moment it is made: no sleep, no second try, by its org's manager, fifty times.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import pLimit from "p-limit";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { apiAt, tokenOf, type Api, type Named, type Page } from "./support/api.ts";
import { cfOn, whyNoCf } from "./support/cf.ts";
import { startTestPlatform } from "./support/start-test-platform.ts";
import type { TestPlatform } from "./support/test-platform.ts";

const TIMES = 50;
const LANES = 5;
const CUP_TIMES = 3;
const reason = whyNoCf();
if (reason) console.log(`spaces by cf skipped: ${reason}`);

describe("a space just made", () => {
  let stage: TestPlatform;
  let folder: string;

  beforeAll(async () => {
    stage = await startTestPlatform();
    folder = join(stage.home, "app");
    mkdirSync(folder);
    writeFileSync(join(folder, "index.html"), "<p>small</p>\n");
  });
  afterAll(() => stage?.stop());

  /** All apps of the spaces whose names begin so. */
  async function appsIn(prefix: string): Promise<string[]> {
    const api = apiAt(stage.url, tokenOf(stage, "developer"));
    const { resources: spaces } = await api.call<Page<Named>>("GET", "/v3/spaces?per_page=500");
    const guids = spaces.filter(({ name }) => name.startsWith(prefix)).map(({ guid }) => guid);
    const { resources } = await api.call<Page<Named>>("GET", `/v3/apps?per_page=500&space_guids=${guids.join(",")}`);
    return resources.map(({ name }) => name);
  }

  test.skipIf(reason)(`takes a push by cf at once, ${TIMES} times`, async () => {
    await Promise.all(Array.from({ length: LANES }, (_, lane) => pushByCf(lane)));
    expect(await appsIn("cf-")).toHaveLength(TIMES);
  });

  /** A developer's terminal after another; each has its own configuration of cf. */
  async function pushByCf(lane: number): Promise<void> {
    const cf = cfOn(stage, { cwd: folder, user: `lane-${lane}` });
    mkdirSync(join(stage.home, `cf-lane-${lane}`));
    const must = async (...args: string[]): Promise<void> => {
      const { code, output } = await cf(...args);
      expect(code, `cf ${args.join(" ")}\n${output}`).toBe(0);
    };
    await must("api", stage.url);
    await must("auth", "developer");
    for (let at = lane; at < TIMES; at += LANES) {
      await must("create-space", `cf-${at}`, "-o", "local");
      await must("target", "-o", "local", "-s", `cf-${at}`);
      await must("push", `app-${at}`, "--no-start", "-p", folder);
    }
  }

  test(`takes all that a push sends to the API at once, ${TIMES} times`, async () => {
    const api = apiAt(stage.url, tokenOf(stage, "developer"));
    const org = (await api.call<Page<Named>>("GET", "/v3/organizations?names=local")).resources[0]?.guid ?? "";
    const limit = pLimit(LANES);
    await Promise.all(Array.from({ length: TIMES }, (_, at) => limit(() => pushByApi(api, org, `api-${at}`))));
    expect(await appsIn("api-")).toHaveLength(TIMES);
  });

  async function pushByApi(api: Api, org: string, name: string): Promise<void> {
    const space = await api.call("POST", "/v3/spaces", {
      name,
      relationships: { organization: { data: { guid: org } } },
    });
    const inSpace = { space: { data: { guid: space.guid } } };
    for (const type of ["space_manager", "space_developer"]) {
      await api.call("POST", "/v3/roles", {
        type,
        relationships: { user: { data: { guid: "developer" } }, ...inSpace },
      });
    }
    const app = await api.call("POST", "/v3/apps", { name: "app", relationships: inSpace });
    await api.call("PATCH", `/v3/apps/${app.guid}/environment_variables`, { var: { A: "b" } });
    await api.call("POST", `/v3/apps/${app.guid}/processes/web/actions/scale`, { instances: 2 });
    await api.call("POST", "/v3/packages", { type: "bits", relationships: { app: { data: { guid: app.guid } } } });
    expect((await api.call<Page<Named>>("GET", `/v3/packages?app_guids=${app.guid}`)).resources).toHaveLength(1);
  }

  test("takes a push by cup at once", async () => {
    const must = async (...args: string[]): Promise<void> => {
      const { code, output } = await stage.cup(...args);
      expect(code, `cup ${args.join(" ")}\n${output}`).toBe(0);
    };
    await must("login", "--api", stage.url, "--user", "developer");
    await must("target", "-o", "local");
    for (let at = 0; at < CUP_TIMES; at++) {
      await must("create-space", `cup-${at}`);
      await must("target", "-s", `cup-${at}`);
      await must("push", `cup-app-${at}`, "--no-start", "-p", folder);
    }
    expect(await appsIn("cup-")).toHaveLength(CUP_TIMES);
  });
});

// A name, wanted by many at once through every door: exactly one gets it and is ever listed; the others are told in CF's words.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { stringify } from "yaml";
import { apiAt, errorsOf, guidOf, tokenOf, type Api, type ApiAnswer, type Named, type Page } from "./support/api.ts";
import { eventually } from "../eventually.ts";
import { startTestPlatform } from "./support/start-test-platform.ts";
import type { TestPlatform } from "./support/test-platform.ts";
import { startSecondApi, type SecondApi } from "./support/second-api.ts";

const NAMESPACE = "local-dev";
const API_CALLS = 50;
const KUBECTL_CALLS = 10;

interface Live {
  metadata: { name: string; uid: string };
  status?: { conditions?: { type: string; status: string; reason: string; message: string }[] };
}

describe("a race for one name", () => {
  let stage: TestPlatform;
  let second: SecondApi;
  let apis: [Api, Api];
  let space: string;

  beforeAll(async () => {
    stage = await startTestPlatform();
    second = await startSecondApi(stage);
    apis = [apiAt(stage.url, tokenOf(stage, "admin")), apiAt(second.url, tokenOf(stage, "admin"))];
    space = await guidOf(stage, "spaces.cupola.dev/dev", "local");
  });
  afterAll(async () => {
    await second?.stop();
    await stage?.stop();
  });

  interface Race {
    plural: string;
    /** The CF list of whatever got the name. */
    list: string;
    post: (api: Api) => Promise<ApiAnswer>;
    manifest: (name: string) => object;
    /** CF's refusal of the loser. */
    refusal: RegExp;
    /** The claim of that name. */
    claimed: string;
  }

  async function run(race: Race): Promise<void> {
    const files = Array.from({ length: KUBECTL_CALLS }, (_, at) => join(stage.home, `${race.plural}-${at}.yaml`));
    files.forEach((file, at) => writeFileSync(file, stringify(race.manifest(at === 0 ? "race" : `other-${at}`))));
    const listed = new Set<string>();
    const over = new AbortController();
    const contend = async () => {
      const ended = await Promise.all([
        Promise.all(Array.from({ length: API_CALLS }, (_, at) => race.post(at % 2 === 0 ? apis[0] : apis[1]))),
        Promise.all(files.map((file) => stage.kubectl("create", "-f", file))),
      ]);
      await eventually(async () =>
        expect(await conditions(race.plural)).toSatisfy(
          (all: string[]) =>
            all.filter(isReady).length === 1 && all.every((one) => /^(True|False NameTaken)/.test(one)),
        ),
      );
      return ended;
    };
    const contest = contend().finally(() => over.abort());
    const [[answers, applied]] = await Promise.all([
      contest,
      ...apis.map((api) => watchList(api, race.list, listed, over.signal)),
    ]);

    const losers = answers.filter(({ status }) => status !== 201);
    expect(answers.length - losers.length).toBeLessThanOrEqual(1);
    for (const loser of losers) {
      expect(loser.status, loser.text).toBe(422);
      expect(errorsOf(loser)[0]?.detail).toMatch(race.refusal);
    }
    // The one whose metadata.name an API's winner already has may be refused by Kubernetes itself.
    expect(applied.filter(({ code }) => code !== 0).map(({ output }) => output)).toSatisfy(
      (refused: string[]) => refused.length <= 1 && refused.every((text) => text.includes("AlreadyExists")),
    );
    expect([...listed]).toHaveLength(1);
    await expectOneClaim(race);
  }

  async function conditions(plural: string): Promise<string[]> {
    const { items } = JSON.parse((await stage.kubectl("get", plural, "-n", NAMESPACE, "-o", "json")).output) as {
      items: Live[];
    };
    return items.map(({ metadata, status }) => {
      const ready = status?.conditions?.find(({ type }) => type === "Ready");
      return `${ready?.status} ${ready?.reason} ${metadata.name}`;
    });
  }

  async function claims(claimed: string): Promise<{ spec: { claimant: { name: string } } }[]> {
    const { items } = JSON.parse(
      (await stage.kubectl("get", "claims", "-n", "cupola-system", "-o", "json")).output,
    ) as { items: { spec: { claimed: string; claimant: { name: string } } }[] };
    return items.filter(({ spec }) => spec.claimed === claimed);
  }

  /** The winner's; and when all are gone, none. */
  async function expectOneClaim(race: Race): Promise<void> {
    const winner = await winnerOf(race);
    expect(await claims(race.claimed)).toMatchObject([{ spec: { claimant: { name: winner } } }]);
    // With the winner gone one of the others gets the name, without anybody asking.
    await stage.kubectl("delete", race.plural, winner, "-n", NAMESPACE);
    const heir = await eventually(() => winnerOf(race));
    const others = (await conditions(race.plural)).map(nameOf).filter((name) => name !== heir);
    await stage.kubectl("delete", race.plural, "-n", NAMESPACE, ...others);
    await stage.kubectl("delete", race.plural, heir, "-n", NAMESPACE);
    await eventually(async () => expect(await claims(race.claimed)).toEqual([]));
  }

  async function winnerOf(race: Race): Promise<string> {
    const [winner, ...more] = (await conditions(race.plural)).filter(isReady);
    expect(more).toEqual([]);
    if (!winner) throw new Error("nobody has the name");
    return nameOf(winner);
  }

  test("for an app's name", () =>
    run({
      plural: "apps.cupola.dev",
      list: "/v3/apps?names=race",
      post: (api) =>
        api.send("POST", "/v3/apps", { name: "race", relationships: { space: { data: { guid: space } } } }),
      manifest: (name) => ({
        apiVersion: "cupola.dev/v1alpha1",
        kind: "App",
        metadata: { name, namespace: NAMESPACE },
        spec: { name: "race" },
      }),
      refusal: /^App with the name 'race' already exists\.$/,
      claimed: "race",
    }));

  test("for a route", async () => {
    const domain = await guidOf(stage, "domains.cupola.dev/apps.localhost", "cupola-system");
    await run({
      plural: "routes.cupola.dev",
      list: "/v3/routes?hosts=race",
      post: (api) =>
        api.send("POST", "/v3/routes", {
          host: "race",
          relationships: { space: { data: { guid: space } }, domain: { data: { guid: domain } } },
        }),
      manifest: (name) => ({
        apiVersion: "cupola.dev/v1alpha1",
        kind: "Route",
        metadata: { name, namespace: NAMESPACE },
        spec: { host: "race", domainRef: { name: "apps.localhost" } },
      }),
      refusal: /^Route already exists with host 'race' for domain 'apps\.localhost'\.$/,
      claimed: "race:0",
    });
  });
});

/** Whether a condition of an object, as `conditions` prints it, is Ready. */
function isReady(condition: string): boolean {
  return condition.startsWith("True");
}

function nameOf(condition: string): string {
  return condition.split(" ")[2] ?? "";
}

/** Reads a list again and again, and gathers every GUID that it ever shows. */
async function watchList(api: Api, path: string, seen: Set<string>, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const { resources } = await api.call<Page<Named>>("GET", path);
    for (const { guid } of resources) seen.add(guid);
    expect(resources.length).toBeLessThanOrEqual(1);
  }
}

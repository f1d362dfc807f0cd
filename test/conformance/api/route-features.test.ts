// Routes behind feature flags: shared between spaces, given to another space, balanced by hash.
import { afterAll, beforeAll, expect, test } from "vitest";
import { type ApiHarness, fault, startApiHarness, to } from "./harness.ts";
import type { Answer } from "./test-env.ts";

let bench: ApiHarness;
let space: { guid: string };
let other: { guid: string };
let domain: { guid: string };
beforeAll(async () => {
  bench = await startApiHarness();
  const org = await bench.org("org");
  [space, other] = [await bench.space(org, "space"), await bench.space(org, "other")];
  domain = (await bench.read("/v3/domains?names=apps.example")).resources[0];
});
afterAll(() => bench.testEnv.stop());

const create = (host: string, more: object = {}): Promise<Answer> =>
  bench.call("POST", "/v3/routes", { host, ...more, relationships: { space: to(space), domain: to(domain) } });
const make = async (host: string, more: object = {}): ReturnType<ApiHarness["make"]> => {
  const answer = await create(host, more);
  expect([answer.status, answer.json.errors]).toEqual([201, undefined]);
  return answer.json;
};

test("sharing needs a feature flag, as in CF; with it, the answer says that a route has one space", async () => {
  const { guid } = await make("shared");
  const path = `/v3/routes/${guid}/relationships`;
  const calls = (): Promise<Answer[]> =>
    Promise.all([
      bench.call("POST", `${path}/shared_spaces`, { data: [{ guid: other.guid }] }),
      bench.call("DELETE", `${path}/shared_spaces/${other.guid}`),
      bench.call("PATCH", `${path}/space`, to(other)),
    ]);
  for (const answer of await calls())
    expect(fault(answer)).toEqual([403, "CF-FeatureDisabled", "Feature Disabled: route_sharing"]);
  const enable = (enabled: boolean): Promise<Answer> =>
    bench.call("PATCH", "/v3/feature_flags/route_sharing", { enabled });
  expect((await enable(true)).status).toBe(200);
  for (const answer of await calls())
    expect(fault(answer)).toEqual([
      422,
      "CF-UnprocessableEntity",
      expect.stringMatching(/^Unable to .* route 'shared\.apps\.example': a route belongs to one space here/),
    ]);
  expect((await bench.read(`${path}/shared_spaces`)).data).toEqual([]);
  await enable(false);
});

test("hash load balancing needs its feature flag and a header", async () => {
  const hash = { loadbalancing: "hash", hash_header: "X-User", hash_balance: "1.25" };
  expect(fault(await create("hashed", { options: hash }))[2]).toBe(
    "Options Loadbalancing must be one of 'round-robin, least-connection' if present, Options Unknown field(s): 'hash_header', 'hash_balance'",
  );
  const enable = (enabled: boolean): Promise<Answer> =>
    bench.call("PATCH", "/v3/feature_flags/hash_based_routing", { enabled });
  expect((await enable(true)).status).toBe(200);
  expect(fault(await create("hashed", { options: { loadbalancing: "hash" } }))[2]).toBe(
    "Hash header must be present when loadbalancing is set to hash.",
  );
  const { guid, options } = await make("hashed", { options: hash });
  expect(options).toEqual({ ...hash, hash_balance: "1.3" });
  const patched = await bench.call("PATCH", `/v3/routes/${guid}`, { options: { loadbalancing: "round-robin" } });
  expect(patched.json.options).toEqual({ loadbalancing: "round-robin" });
  await enable(false);
});

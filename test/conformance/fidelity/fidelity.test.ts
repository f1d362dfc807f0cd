// A short run of the fuzzer, as part of every test run; longer ones are `npm run fidelity`. Also: the same seed makes the same sequences, and a difference is seen and made small.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { whyNoControlPlane } from "../../cluster/binaries.ts";
import type { Api } from "../kubernetes/api.ts";
import { describeDifference, deviationsOf, type Difference } from "./compare.ts";
import { fuzz } from "./fuzz.ts";
import { KNOWN_DIFFERENCES, withoutMessagePatterns } from "./known-differences.ts";
import { createNormaliser } from "./normalise.ts";
import { runSequence } from "./runner.ts";
import { sequenceOf } from "./sequence.ts";
import { type Servers, startServers } from "./servers.ts";
import { shrink } from "./shrink.ts";
import type { Step } from "./step.ts";

const SEED = 1;
const SEQUENCES = 150;
/** Kinds whose every answer is expected to be the same: what the platform itself stores. */
const OUR_KINDS = ["Widget", "Gadget", "App", "Process", "Route", "Domain", "Build"];

test("a seed makes the same sequences each time, another one others", () => {
  expect(sequenceOf(7, 3)).toEqual(sequenceOf(7, 3));
  expect(sequenceOf(7, 3)).not.toEqual(sequenceOf(8, 3));
  expect(sequenceOf(7, 3)).not.toEqual(sequenceOf(7, 4));
});

test("known differences have names of their own, and reasons", () => {
  expect(new Set(KNOWN_DIFFERENCES.map(({ name }) => name)).size).toBe(KNOWN_DIFFERENCES.length);
  expect(KNOWN_DIFFERENCES.filter(({ reason }) => reason.length < 20)).toEqual([]);
});

test("a generated name in a refusal is no difference, and a prefix need not be a text", () => {
  const refusal = (name: string) => ({
    status: 422,
    body: { kind: "Status", message: `pods "${name}" is invalid` },
    headers: {},
    text: "",
  });
  const { outcome } = createNormaliser();
  expect(outcome(refusal("gen-abcde"), "gen-")).toEqual(outcome(refusal("gen-12345"), "gen-"));
  expect(outcome(refusal("gen-abcde"), 7)).toEqual(outcome(refusal("gen-abcde")));
});

test("the fields of an object without a kind may be quoted in any order", () => {
  const quoted = (object: object) =>
    withoutMessagePatterns(
      `Invalid value: ${JSON.stringify(JSON.stringify(object))}: Object 'Kind' is missing in '${JSON.stringify(object)}'`,
    );
  expect(quoted({ b: 1, a: 2 })).toBe(quoted({ a: 2, b: 1 }));
});

test("a read from a cache that is behind is asked again", async () => {
  const versions = ["5", "6", "5", "5", "6", "6"];
  const answer = (body: object) => Promise.resolve({ status: 200, body, headers: {}, text: "" });
  const api = {
    post: () => Promise.resolve({ status: 201 }),
    send: () => answer({ kind: "Widget", metadata: { uid: "u", resourceVersion: versions.shift() } }),
  } as unknown as Api;
  const update: Step = { verb: "update", kind: "Widget", name: "a", query: {}, body: {} };
  const outcomes = await runSequence(api, "ns", [
    update,
    update,
    { verb: "get", kind: "Widget", name: "a", query: { resourceVersion: "0" } },
  ]);
  expect(outcomes.slice(0, 3).map(({ body }) => body.metadata.resourceVersion)).toEqual(["rv-1", "rv-2", "rv-2"]);
});

test("deviations are reported by path", () => {
  expect(deviationsOf({ a: [1, { b: 2 }], c: 1 }, { a: [1, { b: 3 }] })).toEqual([
    { path: "a[1].b", embedded: 2, real: 3 },
    { path: "c", embedded: 1, real: undefined },
  ]);
});

test("a difference is shrunk to the steps and fields that show it", async () => {
  const step = (name: string, spec: object): Step => ({
    verb: "create",
    kind: "Widget",
    name,
    query: { fieldManager: "m" },
    body: { apiVersion: "v1", kind: "Widget", metadata: { name }, spec },
  });
  const steps = [
    step("a", { x: 1 }),
    step("b", { y: 1 }),
    step("c", { x: 1, bad: { deep: 1 }, y: [1, 2] }),
    step("d", {}),
  ];
  const shows = (candidate: Step[]): Promise<Difference | undefined> => {
    const at = candidate.findIndex(({ body }) => body?.spec?.bad !== undefined);
    const outcome = { status: 200, body: {}, warnings: [] };
    return Promise.resolve(
      at === -1 ? undefined : { at, step: candidate[at] as Step, deviations: [], embedded: outcome, real: outcome },
    );
  };
  const small = await shrink({ steps, difference: (await shows(steps)) as Difference }, shows);
  expect(small.steps).toEqual([
    {
      verb: "create",
      kind: "Widget",
      name: "c",
      query: {},
      body: { apiVersion: "v1", kind: "Widget", metadata: { name: "c" }, spec: { bad: {} } },
    },
  ]);
});

const reason = whyNoControlPlane();
describe.skipIf(reason !== undefined)(`random writes at both servers${reason ? `: skipped, ${reason}` : ""}`, () => {
  let servers: Servers;
  beforeAll(async () => {
    servers = await startServers();
  }, 240_000);
  afterAll(() => servers?.stop());

  test(`${SEQUENCES} sequences on custom resources`, async () => {
    const { findings } = await fuzz(servers, { seed: SEED, sequences: SEQUENCES, kinds: OUR_KINDS, shrunk: 1 });
    expect(
      findings.map(({ difference, index }) => `--seed ${SEED} --first ${index}\n${describeDifference(difference)}`),
    ).toEqual([]);
  }, 120_000);
});

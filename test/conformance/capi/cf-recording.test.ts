// How recordings of stock cf become what is sent again: names, and rules for what differs from run to run.
import { expect, test } from "vitest";
import { bodyOnNode } from "../../e2e/cf-traffic/places.ts";
import { maskAnswer, withoutOthers } from "../../e2e/cf-recording/masks.ts";
import { mergeReplay } from "../../e2e/cf-recording/merge-replay.ts";
import { readTemplate } from "../../e2e/cf-recording/read-template.ts";
import type { ReplayedCase } from "../../e2e/cf-recording/replay-file.ts";
import type { CaseExchange } from "../../e2e/cf-recording/templates.ts";
import { toReplay } from "../../e2e/cf-recording/to-replay.ts";
import { makeContent, readContent } from "../../e2e/cf-recording/upload-content.ts";
import { match } from "../../e2e/cf-traffic/match.ts";
import type { Template } from "../../e2e/cf-traffic/traffic.ts";

const exchange = (method: string, path: string, body: Template, more: { sent?: Template } = {}): CaseExchange => ({
  request: { method, path, ...(more.sent !== undefined && { body: more.sent }) },
  answer: { status: 200, headers: {}, body },
  isOfCommand: true,
});
const noNames = { gives: new Set<string>(), known: new Set<string>() };
const page = { total_results: 1 };

test.each<[string, Template, Template]>([
  ["a random host", { host: "<own>-smart-hare-5i" }, { host: "<own>-<text>" }],
  ["a random host of the case's second app", { host: "<own>-b-smart-hare-5i" }, { host: "<own>-b-<text>" }],
  ["a host that is not random", { host: "<own>-from" }, { host: "<own>-from" }],
  ["a task without a name", { name: "3cdecd4b", sequence_id: 1 }, { name: "<text>", sequence_id: 1 }],
  ["a task with a name", { name: "migrate", sequence_id: 1 }, { name: "migrate", sequence_id: 1 }],
  [
    "a buildpack behind others",
    { name: "<own>", position: 12, locked: false },
    { name: "<own>", position: "<number>", locked: false },
  ],
  [
    "a buildpack among the platform's",
    { name: "<own>", position: 2, locked: false },
    { name: "<own>", position: 2, locked: false },
  ],
  [
    "a relationship to many",
    { data: [{ guid: "<guid-5>" }], links: {} },
    { data: { "<in any order>": [{ guid: "<guid-5>" }] }, links: {} },
  ],
])("%s is masked where it differs from run to run", (_what, answer, masked) => {
  expect(maskAnswer(answer)).toEqual(masked);
});

test("what other cases have made is cut out of a question for several objects, and out of its answer", () => {
  const apps = {
    pagination: page,
    resources: [
      { guid: "<guid-6>", name: "other" },
      { guid: "<guid-5>", name: "<own>" },
    ],
  };
  const routes = {
    pagination: page,
    resources: [
      { guid: "<guid-7>", app: "<guid-5>" },
      { guid: "<guid-8>", app: "<guid-6>" },
    ],
  };
  const [, cut] = withoutOthers(
    [
      exchange("GET", "/v3/apps?space_guids=<guid-2>", apps),
      exchange("GET", "/v3/routes?app_guids=<guid-6>%2C<guid-5>", routes),
    ],
    ["app-2"],
  );
  expect(cut?.request.path).toBe("/v3/routes?app_guids=<guid-5>");
  expect(cut?.answer.body).toMatchObject({ resources: { "<at least>": [{ guid: "<guid-7>", app: "<guid-5>" }] } });
});

test("a question for what another case has made goes", () => {
  const apps = {
    pagination: page,
    resources: [
      { guid: "<guid-5>", name: "app-2" },
      { guid: "<guid-6>", name: "app-20" },
    ],
  };
  const sent = withoutOthers(
    [
      exchange("GET", "/v3/apps?space_guids=<guid-2>", apps),
      exchange("GET", "/v3/apps/<guid-5>/routes", ""),
      exchange("GET", "/v3/apps/<guid-6>/routes", ""),
    ],
    ["app-2"],
  );
  expect(sent.map(({ request }) => request.path)).toEqual([
    "/v3/apps?space_guids=<guid-2>",
    "/v3/apps/<guid-6>/routes",
  ]);
});

test("a question for one object of the platform stays as it is", () => {
  const asked = exchange("GET", "/v3/buildpacks/<guid-5>", { guid: "<guid-5>" });
  const [, same] = withoutOthers(
    [exchange("GET", "/v3/buildpacks", { pagination: page, resources: [{ guid: "<guid-5>", name: "nodejs" }] }), asked],
    ["app-2"],
  );
  expect(same?.request).toEqual(asked.request);
});

test("a list of the case's own is compared whole, a list of the space by its members of the case", () => {
  const resources = [
    { guid: "<guid-5>", name: "<own>" },
    { guid: "<guid-6>", name: "other" },
  ];
  const known = { ...noNames, known: new Set(["guid-5"]) };
  expect(readTemplate(exchange("GET", "/v3/apps?names=<own>", { pagination: page, resources }), known)).toEqual({
    pagination: page,
    resources: { "<in any order>": resources },
  });
  expect(readTemplate(exchange("GET", "/v3/apps", { pagination: page, resources }), known)).toEqual({
    pagination: "<any>",
    resources: { "<at least>": [resources[0]] },
  });
});

test("an order that was asked for is compared", () => {
  const resources = [{ guid: "<guid-5>", name: "<own>" }];
  const read = exchange("GET", "/v3/apps?names=<own>&order_by=name", { pagination: page, resources });
  expect(readTemplate(read, noNames)).toMatchObject({ resources });
});

test("of a state that passes by itself only the members are compared", () => {
  const read = exchange("GET", "/v3/builds/<guid-5>", { guid: "<guid-5>", state: "STAGING", error: null });
  expect(readTemplate(read, noNames)).toEqual({ guid: "<guid-5>", state: "<any>", error: "<any>" });
  const built = exchange("GET", "/v3/builds/<guid-5>", { guid: "<guid-5>", state: "STAGED", error: null });
  expect(readTemplate(built, noNames)).toEqual(built.answer.body);
});

test("a case whose request needs a name that no answer gave cannot be sent again, and the reason says which", () => {
  const shared = { command: "", name: "", ownName: "", exchanges: [] };
  const one = { command: "app", name: "one", ownName: "app-1", exchanges: [exchange("GET", "/v3/apps/<guid-7>", "")] };
  expect(toReplay([shared, one])).toEqual([
    { name: "cf app: one", reason: "no answer gave <guid-5> for GET /v3/apps/<guid-5>" },
  ]);
});

test("what another case has made is compared nowhere, even when two lists have it", () => {
  const shared = { command: "", name: "", ownName: "", exchanges: [] };
  const apps = { pagination: page, resources: [{ guid: "<guid-7>", name: "stranger" }] };
  const processes = { pagination: page, resources: [{ guid: "<guid-7>", type: "web" }] };
  const exchanges = [exchange("GET", "/v3/apps", apps), exchange("GET", "/v3/processes", processes)];
  expect(toReplay([shared, { command: "apps", name: "one", ownName: "apps-1", exchanges }])).toMatchObject([
    { exchanges: [{ body: { resources: { "<at least>": [] } } }, { body: { resources: { "<at least>": [] } } }] },
  ]);
});

test("the name of a case stands for itself in what it sends and gets, but not in longer names", () => {
  const shared = { command: "", name: "", ownName: "", exchanges: [] };
  const sent = { name: "app-1", host: "app-1-from", other: "app-12", more: "my.app-1.example" };
  const one = {
    command: "app",
    name: "one",
    ownName: "app-1",
    exchanges: [exchange("POST", "/v3/apps", "", { sent })],
  };
  expect(toReplay([shared, one])).toMatchObject([
    {
      own: "app-1",
      exchanges: [
        { request: { body: { name: "<own>", host: "<own>-from", other: "app-12", more: "my.<own>.example" } } },
      ],
    },
  ]);
});

test("a case that is recorded again replaces itself, the others stay, and names stay apart", () => {
  const upload = (content: string): CaseExchange["request"] => ({
    method: "POST",
    path: "/v3/packages/<guid-5>/upload",
    form: [{ name: "bits", filename: "a.zip", content }],
  });
  const caseOf = (name: string, own: string, content: string): ReplayedCase => ({
    name,
    own,
    exchanges: [{ request: upload(content), status: 200, body: "" }],
  });
  const known = {
    cases: [caseOf("one", "push-1", "a"), caseOf("gone", "push-3", "b"), caseOf("two", "push-2", "c")],
    uploads: { a: { text: "a" }, b: { text: "b" }, c: { text: "c" } },
  };
  const recorded = {
    cases: [caseOf("one", "push-1", "d"), caseOf("three", "push-2", "c")],
    uploads: { d: { text: "d" } },
  };
  expect(mergeReplay(known, recorded, new Set(["one", "two", "three"]))).toEqual({
    cases: [caseOf("one", "push-1", "d"), caseOf("two", "push-2", "c"), caseOf("three", "push-2-more", "c")],
    uploads: { c: { text: "c" }, d: { text: "d" } },
  });
});

test("a zip's files are read and made again with their modes", async () => {
  const content = { files: { "bin/detect": { text: "#!/bin/sh\n", mode: 0o755 }, "a.txt": { text: "é" } } };
  expect(await readContent(Buffer.from(await makeContent(content)))).toEqual(content);
});

test("what is no zip is kept as it is", async () => {
  const content = await readContent(Buffer.from("no zip at all"));
  expect(Buffer.from(await makeContent(content)).toString()).toBe("no zip at all");
});

test("a list that has at least these members may have others, and lacks none of them", () => {
  const template = { resources: { "<at least>": [{ name: "one", guid: "<guid-5>" }] } };
  const learnt = new Map<string, string>();
  const guid = "01a205d0-8b9d-74e9-a258-1462219303b3";
  expect(
    match(
      template,
      {
        resources: [
          { name: "two", guid },
          { name: "one", guid },
        ],
      },
      learnt,
    ),
  ).toEqual([]);
  expect(learnt.get("guid-5")).toBe(guid);
  expect(match(template, { resources: [{ name: "two", guid }] }, learnt)).toHaveLength(1);
});

test("the case's own name matches itself alone", () => {
  const learnt = new Map([["own", "app-1"]]);
  expect(match("<own>-from", "app-1-from", learnt)).toEqual([]);
  expect(match("<own>-from", "app-12-from", learnt)).toHaveLength(1);
});

test("a droplet's answer is that of an image on a node, in a list and by itself", () => {
  const droplet = {
    checksum: { type: "sha256", value: "<sha256>" },
    image: null,
    buildpacks: [{ name: "nodejs_buildpack", buildpack_name: "nodejs_buildpack" }],
  };
  const image = {
    checksum: null,
    image: "<any>",
    buildpacks: [{ name: "cupola/nodejs", buildpack_name: "cupola/nodejs" }],
  };
  expect(bodyOnNode("/v3/droplets?source_guid=<guid-4>", droplet)).toEqual(image);
  expect(bodyOnNode("/v3/droplets/<guid-4>", droplet)).toEqual(image);
  expect(bodyOnNode("/v3/droplets?guids=<guid-4>", { resources: [droplet] })).toEqual({ resources: [image] });
  expect(bodyOnNode("/v3/apps", { resources: [] })).toEqual({ resources: [] });
});

// The recorded cases of stock cf: all can be sent again, and those that every run sends show all that the others do.
import { expect, test } from "vitest";
import { allCaseNames } from "../../e2e/cf-recording/case-names.ts";
import { chooseCases } from "../../e2e/cf-recording/choose-cases.ts";
import { chosenReplay, kindOfExchange } from "../../e2e/cf-recording/chosen-replay.ts";
import { readReplay, type ReplayedCase } from "../../e2e/cf-recording/replay-file.ts";
import { readRequests } from "../../e2e/cf-recording/requests-file.ts";

const toKind = kindOfExchange();
/** Asked several times of each of thousands. */
const kinds = new Map<ReplayedCase["exchanges"][number], string>();
const kindOf: typeof toKind = (exchange) => kinds.getOrInsertComputed(exchange, toKind);
const { cases, uploads } = readReplay();
const chosen = chosenReplay({ fewest: false }).cases;
const fewest = chosenReplay({ fewest: true }).cases;

/** Endpoint and status of a line of requests.golden.json. */
function pairOf(line: string): string {
  const [method = "", path = "", ...rest] = line.split(" ");
  return `${method} ${path} ${rest.at(-1) ?? ""}`;
}

const pairOfKind = (kind: string): string => pairOf(kind.slice(0, kind.indexOf(" [")));

test("each case can be sent again", () => {
  const why = "record it: CONTRIBUTING.md, A case of stock cf";
  expect(cases.map(({ name }) => name).sort(), why).toEqual([...allCaseNames()].sort());
});

test("no two cases use one name, since all are sent to one platform", () => {
  const names = cases.map(({ own }) => own);
  expect(names.filter((name, at) => names.indexOf(name) !== at)).toEqual([]);
});

test("no case asks for or is compared with what another one makes, which may be left out", () => {
  const owns = new Set(cases.map(({ own }) => own.replace(/(-more)+$/, "")));
  const pattern = new RegExp(`(?<![A-Za-z0-9-])(${[...owns].map((own) => RegExp.escape(own)).join("|")})(?![0-9])`);
  const found = cases.flatMap(({ name, exchanges }) =>
    exchanges.filter(({ request, body }) => pattern.test(JSON.stringify([request.body ?? "", body]))).map(() => name),
  );
  expect(found).toEqual([]);
});

test.each([
  ["all", chosen],
  ["fewest", fewest],
])("each exchange of a case that is left out is like one of a case that is sent: %s", (_which, some) => {
  const sent = new Set(some.flatMap(({ exchanges }) => exchanges.map(kindOf)));
  const missing = cases.flatMap(({ name, exchanges }) =>
    exchanges.map((one) => `${name}: ${kindOf(one)}`).filter((_text, at) => !sent.has(kindOf(exchanges[at]!))),
  );
  expect(missing).toEqual([]);
});

test("every endpoint with every status that the recordings of cf have is met", () => {
  const met = new Set(fewest.flatMap(({ exchanges }) => exchanges.map((one) => pairOfKind(kindOf(one)))));
  const recorded = new Set(Object.values(readRequests()).flatMap((group) => Object.values(group).flat().map(pairOf)));
  expect([...recorded].filter((pair) => !met.has(pair))).toEqual([]);
});

test("the content of each upload is in the recording, or an answer before gives it", () => {
  const parts = cases.flatMap(({ exchanges }) => exchanges.flatMap(({ request }) => request.form ?? []));
  const files = parts.filter(({ filename }) => filename !== undefined);
  const answers = new Set(cases.flatMap(({ exchanges }) => exchanges.map(({ body }) => String(body))));
  expect(files.length).toBeGreaterThan(30);
  expect(files.filter(({ content = "" }) => !(content in uploads) && !answers.has(content))).toEqual([]);
});

const get = (path: string, status = 200, body: object = {}): ReplayedCase["exchanges"][number] => ({
  request: { method: "GET", path },
  status,
  body: body as Record<string, string>,
});
const post = (path: string, status: number): ReplayedCase["exchanges"][number] => ({
  request: { method: "POST", path, body: { name: "<own>" } },
  status,
  body: {},
});
const caseOf = (name: string, ...exchanges: ReplayedCase["exchanges"]): ReplayedCase => ({
  name,
  own: name,
  exchanges,
});
const namesChosen = (...all: ReplayedCase[]): string[] => chooseCases(all, kindOf).map(({ name }) => name);

const start = post("/v3/apps/<guid-5>/actions/start", 200);

test("a case that starts an app is left out when others show its endpoints, statuses and members", () => {
  const list = get("/v3/apps?names=<own>", 200, { resources: [{ guid: "<guid-5>" }] });
  const same = get("/v3/apps?names=other", 200, { resources: { "<at least>": [{ guid: "<guid-9>" }] } });
  expect(namesChosen(caseOf("one", start, list), caseOf("same", start, same))).toEqual(["one"]);
});

test.each([
  ["another status", post("/v3/apps/<guid-5>/actions/start", 422)],
  ["another key of the query", get("/v3/apps?guids=<guid-5>")],
  ["another member of the answer", get("/v3/apps?names=<own>", 200, { guid: "<guid-5>" })],
  ["another endpoint", get("/v3/spaces?names=<own>")],
])("a case that starts an app is sent for %s", (_what, exchange) => {
  const one = caseOf("one", start, get("/v3/apps?names=<own>"));
  expect(namesChosen(one, caseOf("more", start, exchange))).toEqual(["one", "more"]);
});

test("a case that starts nothing is sent even if it adds nothing, and so is one that is needed", () => {
  const reads = [caseOf("reads", get("/v3/apps")), caseOf("again", get("/v3/apps"))];
  expect(namesChosen(...reads)).toEqual(["reads", "again"]);
  const starts = [caseOf("one", start), caseOf("needed", start)];
  expect(chooseCases(starts, kindOf, { isNeeded: ({ name }) => name === "needed" }).map(({ name }) => name)).toEqual([
    "needed",
  ]);
});

test("of the fewest, a case that adds nothing is left out even if it starts nothing", () => {
  const reads = [caseOf("reads", get("/v3/apps")), caseOf("again", get("/v3/apps"), get("/v3/apps"))];
  expect(chooseCases(reads, kindOf, { fewest: true }).map(({ name }) => name)).toEqual(["reads"]);
});

test("of two cases that show the same, the one that starts less is sent", () => {
  expect(namesChosen(caseOf("twice", start, start), caseOf("once", start))).toEqual(["once"]);
});

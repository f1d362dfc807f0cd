// Chooses, of all recorded cases, those to send again in every run: each adds an endpoint with a status that nothing before it covers. Pure.
import type { Template } from "../cf-traffic/traffic.ts";
import { caseName } from "./case-names.ts";
import type { CaseExchange, CaseRecording } from "./case-recorder.ts";
import { GROUND_NAMES, type ReplayedCase, type ReplayedExchange } from "./replay-file.ts";

/** Method, endpoint and status. */
export type KindOf = (exchange: CaseExchange) => string;

interface Candidate extends ReplayedCase {
  kinds: Set<string>;
  /** What it makes is called so; of two with one name only one can run. */
  ownName: string;
  costMs: number;
  position: number;
}

/** Instances that start, and builds: seconds each. */
const SLOW = /\/actions\/(start|restart)$|^\/v3\/(builds|deployments)$|\/tasks$/;
const START_MS = 1500;
const REQUEST_MS = 8;
/** What a case may cost for each endpoint and status that it adds. */
const WORTH_MS = 700;
const NAME = /<((?:guid|job)-\d+)>/g;

/** In the order of the recording. `covered` are kinds that need no case. */
export function chooseCases(
  groups: readonly (readonly CaseRecording[])[],
  { kindOf, covered }: { kindOf: KindOf; covered: ReadonlySet<string> },
): ReplayedCase[] {
  const candidates = groups
    .flatMap((cases) => toCandidates(cases, kindOf))
    .map((one, position) => ({ ...one, position }));
  const have = new Set(covered);
  const chosen: Candidate[] = [];
  for (;;) {
    const [best] = candidates
      .filter(({ ownName }) => !chosen.some((one) => one.ownName === ownName))
      .map((one) => ({ one, costMs: one.costMs / [...one.kinds].filter((kind) => !have.has(kind)).length }))
      .filter(({ costMs }) => costMs <= WORTH_MS)
      .sort((a, b) => a.costMs - b.costMs);
    if (!best) break;
    chosen.push(best.one);
    for (const kind of best.one.kinds) have.add(kind);
  }
  return chosen.sort((a, b) => a.position - b.position).map(({ name, exchanges }) => ({ name, exchanges }));
}

/** The cases that need nothing but the ground. */
function toCandidates(cases: readonly CaseRecording[], kindOf: KindOf): Omit<Candidate, "position">[] {
  const ground = groundNames(cases);
  return cases.flatMap(({ command, name, ownName, exchanges }) => {
    if (command === "") return [];
    const renamed = rename(exchanges, ground);
    if (!isComplete(renamed) || !canBeSent(renamed)) return [];
    return [
      {
        name: caseName(command, name),
        ownName,
        exchanges: toReplayed(renamed),
        kinds: new Set(exchanges.map(kindOf)),
        costMs: exchanges.reduce((sum, one) => sum + costOf(one), 0),
      },
    ];
  });
}

function costOf({ request }: CaseExchange): number {
  return REQUEST_MS + (request.method !== "GET" && SLOW.test(request.path.split("?")[0] ?? "") ? START_MS : 0);
}

/** What the group's recording calls the things that all groups have. */
function groundNames(cases: readonly CaseRecording[]): Map<string, string> {
  const all = cases.flatMap(({ exchanges }) => exchanges);
  const first = all.slice(0, cases[0]?.exchanges.length ?? 0);
  const made = (path: string): string => guidIn(first.find(({ request }) => request.path === path)?.answer.body);
  const listed = first.find(({ request }) => request.path.startsWith("/v3/domains?"))?.answer.body;
  const copied = all.find(({ request }) => request.path.startsWith("/v3/droplets?source_guid="))?.request.path;
  const names: [string, string][] = [
    [made("/v3/organizations"), GROUND_NAMES.org],
    [made("/v3/spaces"), GROUND_NAMES.space],
    [guidIn((listed as { resources?: Template[] } | undefined)?.resources?.[0]), GROUND_NAMES.domain],
    [/<(guid-\d+)>/.exec(copied ?? "")?.[1] ?? "", GROUND_NAMES.droplet],
  ];
  return new Map(names.filter(([found]) => found !== ""));
}

function guidIn(body: Template | undefined): string {
  const guid = typeof body === "object" && body !== null && "guid" in body ? String(body["guid"]) : "";
  return /^<(guid-\d+)>$/.exec(guid)?.[1] ?? "";
}

/** Names in the order in which the case meets them, after those of the ground. */
function rename(exchanges: readonly CaseExchange[], ground: ReadonlyMap<string, string>): CaseExchange[] {
  const names = new Map(ground);
  const counts = { guid: Object.keys(GROUND_NAMES).length, job: 0 };
  const text = JSON.stringify(exchanges).replaceAll(NAME, (_all, name: string) => {
    const kind = name.startsWith("job") ? "job" : "guid";
    const known = names.get(name) ?? `${kind}-${++counts[kind]}`;
    names.set(name, known);
    return `<${known}>`;
  });
  return JSON.parse(text) as CaseExchange[];
}

const namesIn = (value: unknown): string[] =>
  [...(JSON.stringify(value) ?? "").matchAll(NAME)].flatMap(([, name]) => name ?? []);

/** Each name that a request uses is the ground's, or an answer before has given it. */
function isComplete(exchanges: readonly CaseExchange[]): boolean {
  const known = new Set<string>(Object.values(GROUND_NAMES));
  return exchanges.every(({ request, answer }) => {
    const isKnown = namesIn(request).every((name) => known.has(name));
    for (const name of namesIn(answer)) known.add(name);
    return isKnown;
  });
}

/** Content of files is not in a recording, and a text that names times of before is none of today's. */
function canBeSent(exchanges: readonly CaseExchange[]): boolean {
  return exchanges.every(({ request: { body, form, contentType, path } }) => {
    const isBytes = typeof body === "string" && !/json|yaml/.test(contentType ?? "");
    const isOther = form?.some(({ filename }) => filename !== undefined && !path.startsWith("/v3/packages/"));
    return !isBytes && !isOther;
  });
}

function toReplayed(exchanges: readonly CaseExchange[]): ReplayedExchange[] {
  // Of a question asked again and again only the last time.
  const isPoll = ({ request }: CaseExchange, at: number): boolean => {
    const nextWrite = exchanges.findIndex((later, index) => index > at && later.request.method !== "GET");
    const reads = exchanges.slice(at + 1, nextWrite < 0 ? undefined : nextWrite);
    return request.method === "GET" && reads.some((later) => later.request.path === request.path);
  };
  return exchanges
    .filter((one, at) => !isPoll(one, at))
    .map(({ as, request, answer }, at, all) => {
      const later = new Set(all.slice(at + 1).flatMap((one) => namesIn(one.request)));
      const before = new Set([
        ...Object.values(GROUND_NAMES),
        ...all.slice(0, at).flatMap((one) => namesIn(one.answer)),
      ]);
      const gives = namesIn(answer).some((name) => later.has(name) && !before.has(name));
      const isKept = gives || request.method !== "GET" || answer.status >= 400;
      const state = request.method === "GET" ? stateIn(answer.body) : undefined;
      return {
        ...(as && { as }),
        request,
        status: answer.status,
        ...(isKept && { body: answer.body }),
        ...(state !== undefined && { state }),
        ...(answer.headers["location"]?.includes("<job") && { location: answer.headers["location"] }),
      };
    });
}

function stateIn(body: Template): string | undefined {
  return typeof body === "object" && body !== null && "state" in body ? String(body["state"]) : undefined;
}

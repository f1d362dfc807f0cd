// Makes of a recorded case what is sent again: names of its own, and of each answer what a replay compares. Pure.
import type { Template } from "../cf-traffic/traffic.ts";
import { caseName } from "./case-names.ts";
import { maskAnswer, withoutOthers } from "./masks.ts";
import { readTemplate } from "./read-template.ts";
import { GROUND_NAMES, OWN, type ReplayedCase, type ReplayedExchange } from "./replay-file.ts";
import { namesIn, type CaseExchange, type CaseTemplate } from "./templates.ts";

/** A case that can be sent again, or why it cannot. */
export type ToReplay = ReplayedCase | { name: string; reason: string };

/** The cases of one recording. */
export function toReplay(cases: readonly CaseTemplate[]): ToReplay[] {
  const ground = groundNames(cases);
  return cases
    .filter(({ command }) => command !== "")
    .map(({ command, name, ownName, exchanges }) => {
      const others = cases.map((one) => one.ownName).filter((one) => one !== "" && one !== ownName);
      const renamed = withoutOthers(rename(exchanges, { ground, ownName }), others);
      const unknown = firstUnknown(renamed);
      return {
        name: caseName(command, name),
        ...(unknown === undefined ? { own: ownName, exchanges: toExchanges(renamed) } : { reason: unknown }),
      };
    });
}

/** Names in the group's recording of the things that all groups have. */
function groundNames(cases: readonly CaseTemplate[]): Map<string, string> {
  const all = cases.flatMap(({ exchanges }) => exchanges);
  const first = all.slice(0, cases[0]?.exchanges.length ?? 0);
  const made = (path: string): string => guidIn(first.find(({ request }) => request.path === path)?.answer.body);
  const listed = first.find(({ request }) => request.path.startsWith("/v3/domains?"))?.answer.body;
  const droplet = first.findLast(({ request }) => request.path.endsWith("/droplets/current"))?.answer.body;
  const names: [string, string][] = [
    [made("/v3/organizations"), GROUND_NAMES.org],
    [made("/v3/spaces"), GROUND_NAMES.space],
    [guidIn((listed as { resources?: Template[] } | undefined)?.resources?.[0]), GROUND_NAMES.domain],
    [guidIn(droplet), GROUND_NAMES.droplet],
  ];
  return new Map(names.filter(([found]) => found !== ""));
}

function guidIn(body: Template | undefined): string {
  const guid = typeof body === "object" && body !== null && "guid" in body ? String(body["guid"]) : "";
  return /^<(guid-\d+)>$/.exec(guid)?.[1] ?? "";
}

/** Names in the order in which the case meets them, after those of the ground. */
function rename(
  exchanges: readonly CaseExchange[],
  { ground, ownName }: { ground: ReadonlyMap<string, string>; ownName: string },
): CaseExchange[] {
  const names = new Map(ground);
  const counts = { guid: Object.keys(GROUND_NAMES).length, job: 0 };
  // In a query it may stand behind an encoded character.
  const own = new RegExp(`(?:(?<![A-Za-z0-9])|(?<=%[0-9A-F]{2}))${RegExp.escape(ownName)}(?![0-9])`, "g");
  const text = JSON.stringify(exchanges)
    .replaceAll(own, OWN)
    .replaceAll(/<((?:guid|job)-\d+)>/g, (_all, name: string) => {
      const kind = name.startsWith("job") ? "job" : "guid";
      const known = names.get(name) ?? `${kind}-${++counts[kind]}`;
      names.set(name, known);
      return `<${known}>`;
    });
  return JSON.parse(text) as CaseExchange[];
}

/** The first request with a name that neither the ground nor an answer before it has given. */
function firstUnknown(exchanges: readonly CaseExchange[]): string | undefined {
  const known = new Set<string>(Object.values(GROUND_NAMES));
  for (const { request, answer } of exchanges) {
    const unknown = namesIn(request).find((name) => !known.has(name));
    if (unknown !== undefined) return `no answer gave <${unknown}> for ${request.method} ${request.path}`;
    for (const name of namesIn(answer)) known.add(name);
  }
  return undefined;
}

function toExchanges(exchanges: readonly CaseExchange[]): ReplayedExchange[] {
  const known = new Set<string>(Object.values(GROUND_NAMES));
  return exchanges.map((one, at) => {
    const { as, request, answer } = one;
    const later = new Set(exchanges.slice(at + 1).flatMap((after) => namesIn(after.request)));
    const gives = new Set(namesIn(answer).filter((name) => later.has(name) && !known.has(name)));
    const isRead = request.method === "GET" && answer.status < 400;
    const body = maskAnswer(isRead ? readTemplate(one, { gives, known: new Set(known) }) : answer.body);
    // A replay learns no others: those of other cases are cut.
    for (const name of namesIn([body, answer.headers])) known.add(name);
    return {
      ...(as && { as }),
      request,
      status: answer.status,
      body,
      ...(answer.headers["location"] && { location: answer.headers["location"] }),
    };
  });
}

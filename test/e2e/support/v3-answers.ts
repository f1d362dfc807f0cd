// Every answer of the CF API that a GET gives: each list, and each path below each of its resources.
import pLimit from "p-limit";
import { createEndpoints } from "../../../api/endpoints.ts";
import type { Services } from "../../../api/routing/services.ts";
import type { Api } from "./api.ts";

/** Status and body by path, with `BASE` for the API's address. */
export type Answers = ReadonlyMap<string, string>;

const PAGE = 5000;

/** Paths that can be asked: without parameters, or with a GUID right after the name of a list. */
function listPaths(): { lists: string[]; below: Map<string, string[]> } {
  const paths = createEndpoints({} as Services)
    .filter(({ method, path }) => method === "GET" && path.startsWith("/v3/"))
    .map(({ path }) => path);
  const lists = paths.filter((path) => !path.includes(":"));
  const below = new Map<string, string[]>();
  for (const path of paths) {
    const [, list = "", param, rest = ""] = /^(\/v3\/[a-z_]+)\/:(\w+)(\/.*)?$/.exec(path) ?? [];
    if (param === undefined || !lists.includes(list) || /:|\/download$/.test(rest)) continue;
    below.set(list, [...(below.get(list) ?? []), rest]);
  }
  return { lists, below };
}

export async function readAllAnswers(api: Api, base: string): Promise<Answers> {
  const answers = new Map<string, string>();
  const limit = pLimit(8);
  const ask = async (path: string): Promise<string> => {
    const { status, text } = await api.send("GET", path);
    const known = text.replaceAll(base, "BASE");
    answers.set(path, `${status} ${known}`);
    return known;
  };
  const { lists, below } = listPaths();
  await Promise.all(
    lists.map((list) =>
      limit(async () => {
        const text = await ask(list);
        const names = resourcesOf(await ask(`${list}?per_page=${PAGE}`)) ?? resourcesOf(text) ?? [];
        return names.flatMap((name) =>
          (below.get(list) ?? []).map((rest) => `${list}/${encodeURIComponent(name)}${rest}`),
        );
      }).then((paths) => Promise.all(paths.map((path) => limit(() => ask(path))))),
    ),
  );
  return answers;
}

function resourcesOf(text: string): string[] | undefined {
  const { resources } = tryParse(text) as { resources?: { guid?: string; name?: string }[] };
  return resources?.flatMap(({ guid, name }) => guid ?? name ?? []);
}

function tryParse(text: string): object {
  try {
    return JSON.parse(text) as object;
  } catch {
    return {};
  }
}

/** A path whose answers differ, and the text from where they do. */
export interface Difference {
  path: string;
  before: string;
  after: string;
}

const CONTEXT = 60;
const SHOWN = 200;

export function differences(before: Answers, after: Answers): Difference[] {
  return [...new Set([...before.keys(), ...after.keys()])].sort().flatMap((path) => {
    const [one = "no answer", other = "no answer"] = [before.get(path), after.get(path)];
    if (one === other) return [];
    const from = Math.max(0, [...one].findIndex((letter, at) => letter !== other[at]) - CONTEXT);
    return [{ path, before: one.slice(from, from + SHOWN), after: other.slice(from, from + SHOWN) }];
  });
}

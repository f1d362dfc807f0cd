// Runs a sequence against one server, in a namespace of its own, and says what came of each step and what was left at the end.
import type { Answer, Api, Json } from "../kubernetes/api.ts";
import { collectionPath, type FuzzKind, kindOf } from "./kinds.ts";
import { createNormaliser, normalisePages } from "./normalise.ts";
import type { Outcome, Step } from "./step.ts";

const contentTypes = {
  json: "application/json-patch+json",
  merge: "application/merge-patch+json",
  strategic: "application/strategic-merge-patch+json",
  apply: "application/apply-patch+yaml",
};
const methods = {
  create: "POST",
  get: "GET",
  list: "GET",
  update: "PUT",
  patch: "PATCH",
  delete: "DELETE",
  deletecollection: "DELETE",
} as const;
/** Written by a controller of the embedded server into each namespace; the other side runs none. */
const NOT_OURS = "metadata.name!=kube-root-ca.crt,metadata.name!=default";
const MOST_PAGES = 6;
const MOST_READS = 200;

interface Seen {
  uid?: string;
  versions: string[];
}

/** Answers of a server, step by step; the last outcomes are the objects left of each kind. */
export async function runSequence(api: Api, ns: string, steps: readonly Step[]): Promise<Outcome[]> {
  const run: Run = { api, ns, seen: new Map(), normaliser: createNormaliser() };
  const made = await api.post("/api/v1/namespaces", { apiVersion: "v1", kind: "Namespace", metadata: { name: ns } });
  if (made.status !== 201) throw new Error(`no namespace for a sequence: ${made.text}`);
  const outcomes: Outcome[] = [];
  for (const step of steps) outcomes.push(await runStep(run, step));
  for (const cleanUpStep of cleanUpSteps(steps))
    outcomes.push(run.normaliser.outcome(await send(run, cleanUpStep, undefined)));
  return outcomes;
}

/** The reads at the end, by which everything that is left is compared. */
export function cleanUpSteps(steps: readonly Step[]): Step[] {
  const named = new Map<string, Set<string>>();
  for (const { kind, name } of steps) named.set(kind, (named.get(kind) ?? new Set()).add(name ?? ""));
  return [...named].flatMap(([kind, names]): Step[] =>
    kindOf(kind).namespaced
      ? [{ verb: "list", kind, query: {} }]
      : [...names].filter(Boolean).map((name) => ({ verb: "get", kind, name, query: {} })),
  );
}

interface Run {
  api: Api;
  ns: string;
  seen: Map<string, Seen>;
  normaliser: ReturnType<typeof createNormaliser>;
}

const keyOf = ({ kind, name }: Pick<Step, "kind" | "name">) => `${kind}/${name ?? ""}`;

async function runStep(run: Run, step: Step): Promise<Outcome> {
  const live = step.edit ? await send(run, { ...step, verb: "get", query: {} }, undefined) : undefined;
  if (live && live.status !== 200) return run.normaliser.outcome(live);
  if (live) learn(run, step, live);
  const answer = await sendUntilFresh(run, step, bodyText(run, step, live?.body));
  learn(run, step, answer);
  const outcome = run.normaliser.outcome(answer, step.body?.metadata?.generateName);
  return step.verb === "list" ? withPages(run, step, { answer, outcome }) : outcome;
}

/** A watch cache may be a little behind: a read from it is asked again until it shows what was seen already. */
async function sendUntilFresh(run: Run, step: Step, body: string | undefined): Promise<Answer> {
  let answer = await send(run, step, body);
  for (let reads = 1; reads < MOST_READS && isBehind(run, step, answer); reads++) answer = await send(run, step, body);
  return answer;
}

function isBehind(run: Run, step: Step, answer: Answer): boolean {
  const seen = run.seen.get(keyOf(step));
  if (step.verb !== "get" || step.query.resourceVersion !== "0" || answer.status !== 200 || !seen) return false;
  const { uid, resourceVersion } = answer.body.metadata;
  return uid === seen.uid && seen.versions.includes(resourceVersion) && seen.versions.at(-1) !== resourceVersion;
}

/** The pages that follow a first one. */
async function withPages(
  run: Run,
  step: Step,
  { answer, outcome }: { answer: Answer; outcome: Outcome },
): Promise<Outcome> {
  const pages = [outcome.body];
  let next: unknown = answer.body?.metadata?.continue;
  for (let page = 0; typeof next === "string" && next !== "" && page < MOST_PAGES; page++) {
    const more = await send(run, { ...step, query: { ...step.query, continue: next } }, undefined);
    pages.push(run.normaliser.outcome(more).body);
    next = more.body?.metadata?.continue;
  }
  return { ...outcome, body: pages.length === 1 ? outcome.body : normalisePages(pages) };
}

/** Remembers uid and versions of what an answer shows. */
function learn(run: Run, step: Step, answer: Answer): void {
  if (!step.name || !showsStored(step, answer)) return;
  const { uid, resourceVersion } = answer.body.metadata;
  const before = run.seen.get(keyOf(step));
  const versions = before?.uid === uid ? (before?.versions ?? []) : [];
  run.seen.set(keyOf(step), {
    uid,
    versions: versions.includes(resourceVersion) ? versions : [...versions, resourceVersion],
  });
}

const showsStored = (step: Step, { status, body }: Answer): boolean =>
  status < 300 &&
  step.verb !== "list" &&
  !step.query.dryRun &&
  body?.kind !== "Status" &&
  Boolean(body?.metadata?.resourceVersion);

function bodyText(run: Run, step: Step, live: Json): string | undefined {
  const seen = run.seen.get(keyOf(step));
  const placeholders: Record<string, string> = {
    "<uid>": seen?.uid ?? "11111111-1111-1111-1111-111111111111",
    "<rv>": seen?.versions.at(-1) ?? "1",
    "<old-rv>": seen?.versions.at(-2) ?? "1",
  };
  if (step.text !== undefined)
    return placed(
      Object.entries(placeholders).reduce((text, [word, value]) => text.replaceAll(word, value), step.text),
      run,
      step,
    );
  if (step.body === undefined) return undefined;
  const filledBody = JSON.parse(JSON.stringify(step.body), (_key, value: Json) =>
    typeof value === "string" && Object.hasOwn(placeholders, value) ? placeholders[value] : value,
  ) as Json;
  const body = live ? merged(live, filledBody) : filledBody;
  return placed(JSON.stringify(body), run, step);
}

/** Cluster-wide names must not meet those of other sequences. */
function placed(text: string, { ns }: Run, step: Step): string {
  return kindOf(step.kind).namespaced || !step.name
    ? text
    : text.replace(`"name":"${step.name}"`, `"name":"${ns}-${step.name}"`);
}

/** As a client edits: fields set, fields taken out. */
function merged(live: Json, edit: Json): Json {
  if (typeof edit !== "object" || edit === null || Array.isArray(edit)) return edit;
  const out = typeof live === "object" && live !== null && !Array.isArray(live) ? { ...live } : {};
  for (const [key, value] of Object.entries(edit)) {
    if (value === null) delete out[key];
    else out[key] = merged(out[key], value);
  }
  return out;
}

async function send({ api, ns }: Run, step: Step, body: string | undefined): Promise<Answer> {
  const kind = kindOf(step.kind);
  const name = step.verb === "create" || !step.name ? undefined : kind.namespaced ? step.name : `${ns}-${step.name}`;
  const query = new URLSearchParams(queryOf(kind, step)).toString();
  const path =
    [collectionPath(kind, ns), name, step.subresource].filter((part) => part !== undefined).join("/") +
    (query && `?${query}`);
  const headers: Record<string, string> =
    body === undefined ? {} : { "content-type": step.patch ? contentTypes[step.patch] : "application/json" };
  try {
    return await api.send(methods[step.verb], path, { headers, ...(body !== undefined && { body }) });
  } catch (error) {
    // A server that hangs up is a finding like any other.
    const text = String(error);
    return { status: 0, body: text, headers: {}, text };
  }
}

function queryOf({ kind }: FuzzKind, { verb, query }: Step): Record<string, string> {
  if ((verb !== "list" && verb !== "deletecollection") || !["ConfigMap", "ServiceAccount"].includes(kind)) return query;
  return { ...query, fieldSelector: query.fieldSelector ? `${query.fieldSelector},${NOT_OURS}` : NOT_OURS };
}

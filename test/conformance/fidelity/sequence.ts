// A random sequence of requests, as data: which ones depends on the seed alone.
import type { Json, PatchType } from "../kubernetes/api.ts";
import { type FuzzKind, kinds } from "./kinds.ts";
import { labels, metadata, oddNames } from "./metadata.ts";
import { operations, strategicDirectives } from "./patches.ts";
import { type Random, randomOf } from "./random.ts";
import type { Step } from "./step.ts";
import { corrupt } from "./values.ts";

const SHORTEST = 8;
const LONGEST = 15;
/** How often a body has something wrong or unusual in it. */
const CORRUPTED_PROBABILITY = 0.13;

/** Sequence number `index` of a seed. `only` leaves the other kinds out. */
export function sequenceOf(seed: number, index: number, only?: string[]): Step[] {
  const random = randomOf(seed, index);
  const among = kinds.filter(({ kind }) => !only || only.includes(kind));
  const chosen = Array.from(
    {
      length: random.weighted([
        [3, 1],
        [1, 2],
      ]),
    },
    () => random.weighted(among.map((kind) => [kind.weight, kind] as const)),
  );
  const stages = chosen.map((kind): Stage => ({
    kind,
    names: kind.names.slice(
      0,
      random.weighted([
        [4, 1],
        [2, 2],
        [1, 3],
      ]),
    ),
    random,
  }));
  const length = SHORTEST + random.int(LONGEST - SHORTEST + 1);
  return Array.from({ length }, (_, at) =>
    (at === 0 || (at === 1 && random.chance(0.5)) ? opening : nextStep)(random.pick(stages)),
  );
}

interface Stage {
  kind: FuzzKind;
  names: string[];
  random: Random;
}

type Make = (stage: Stage) => Step;

const opening: Make = (stage) => (stage.random.chance(0.5) ? createStep : applyStep)(stage);

function nextStep(stage: Stage): Step {
  const { kind, random } = stage;
  const make = random.weighted<Make>([
    [12, createStep],
    [26, applyStep],
    [9, patchStep("merge")],
    [7, patchStep("json")],
    [kind.builtin ? 9 : 0.5, patchStep("strategic")],
    [9, editStep],
    [7, replaceStep],
    [2, getStep],
    [kind.namespaced ? 4 : 0, listStep],
    [6, deleteStep],
    [kind.namespaced ? 1.5 : 0, deleteAllStep],
    [kind.status ? 9 : 0, statusStep],
    [kind.scale ? 6 : 0, scaleStep],
    [2, finalizerStep],
  ]);
  return make(stage);
}

const queryOf = (random: Random, more: Record<string, string> = {}): Record<string, string> => ({
  ...(random.chance(0.85) && { fieldManager: random.pick(["m1", "m2", "m3"]) }),
  ...(random.chance(0.08) && { dryRun: random.chance(0.95) ? "All" : "Some" }),
  ...(random.chance(0.4) && {
    fieldValidation: random.weighted([
      [4, "Strict"],
      [3, "Warn"],
      [3, "Ignore"],
      [0.3, "Other"],
    ]),
  }),
  ...more,
});

/** Options that a coin may leave out. */
const given = (wanted: boolean, options: Record<string, string>): Record<string, string> => (wanted ? options : {});

const headOf = ({ kind }: Stage) => ({ apiVersion: kind.apiVersion, kind: kind.kind });

/** Kind, name, metadata and content of an object; `name` undefined leaves the name out. */
function bodyOf(stage: Stage, name: string | undefined): Json {
  const { kind, random } = stage;
  const { metadata: inner, ...content } = maybeCorrupted(
    { metadata: metadata(random), ...kind.content(random) },
    random,
  );
  return {
    ...headOf(stage),
    metadata:
      typeof inner === "object" && !Array.isArray(inner) && inner !== null
        ? { ...(name !== undefined && { name }), ...inner }
        : { name },
    ...content,
  };
}

const maybeCorrupted = (value: Json, random: Random): Json =>
  random.chance(CORRUPTED_PROBABILITY) ? corrupt(value, random) : value;

const createStep: Make = (stage) => {
  const { kind, random } = stage;
  const step = { verb: "create" as const, kind: kind.kind, query: queryOf(random) };
  if (kind.namespaced && random.chance(0.04))
    return {
      ...step,
      body: {
        ...bodyOf(stage, undefined),
        metadata: { generateName: random.pick(["gen-", "g.", "Bad-", "long".repeat(20)]), ...metadata(random) },
      },
    };
  const name = kind.namespaced && random.chance(0.03) ? random.pick(oddNames) : random.pick(stage.names);
  const body = { ...bodyOf(stage, name), ...(kind.status && random.chance(0.1) && { status: kind.status(random) }) };
  return withPossibleName(
    random.chance(0.03) ? { ...step, name, text: twice(body, random) } : { ...step, name, body: odd(body, random) },
  );
};

/** A Service whose name no path could have keeps a kube-apiserver busy for minutes: see known.ts. */
function withPossibleName(step: Step): Step {
  if (step.kind !== "Service") return step;
  const isPossible = (name: unknown) => typeof name === "string" && name !== "" && name !== ".." && !/[/%]/.test(name);
  const body = step.text === undefined ? step.body : (JSON.parse(step.text) as Json);
  if (isPossible(body.metadata?.name)) return step;
  return {
    verb: step.verb,
    kind: step.kind,
    query: step.query,
    name: "a",
    body: { ...body, metadata: { ...body.metadata, name: "a" } },
  };
}

/** Bodies that do not say what they are, or say something else. */
function odd(body: Json, random: Random): Json {
  if (!random.chance(0.02)) return body;
  const { kind: _kind, ...kindless } = body;
  const { apiVersion: _apiVersion, ...versionless } = body;
  return random.pick<Json>([
    kindless,
    versionless,
    { ...body, kind: "Other" },
    { ...body, apiVersion: "other/v1" },
    { ...body, unknownTop: { a: 1 } },
    { ...body, metadata: null },
  ]);
}

/** A text in which one field is there twice. */
function twice(body: Json, random: Random): string {
  const text = JSON.stringify(body);
  const fields = [...text.matchAll(/[{,]("[A-Za-z]+":(?:"[^"\\]*"|\d+|true|false|\{\}|\[\]))/g)];
  const field = random.pick(fields);
  return `${text.slice(0, field.index + 1)}${field[1]},${text.slice(field.index + 1)}`;
}

const applyStep: Make = (stage) => {
  const { kind, random } = stage;
  const name = random.pick(stage.names);
  const manager = random.weighted([
    [5, "a1"],
    [5, "a2"],
    [2, "m1"],
    [1, "kubectl"],
    [0.2, ""],
  ]);
  const query = queryOf(random, {
    ...given(random.chance(0.35), { force: random.chance(0.9) ? "true" : "false" }),
    fieldManager: manager,
  });
  if (!manager) delete query.fieldManager;
  const body = bodyOf(stage, name);
  if (random.chance(0.03)) body.metadata.resourceVersion = random.pick(["<rv>", "<old-rv>"]);
  return {
    verb: "patch",
    patch: "apply",
    kind: kind.kind,
    name,
    query,
    body: random.chance(0.2) ? partOf(body, random) : odd(body, random),
  };
};

/** An application that leaves fields of the last level out. */
function partOf({ apiVersion, kind, metadata: meta, ...content }: Json, random: Random): Json {
  return {
    apiVersion,
    kind,
    metadata: { name: meta.name },
    ...Object.fromEntries(random.some(Object.entries(content), 0.5)),
  };
}

const patchStep =
  (patch: Exclude<PatchType, "apply">): Make =>
  (stage) => {
    const { kind, random } = stage;
    const step = {
      verb: "patch" as const,
      patch,
      kind: kind.kind,
      name: random.pick(stage.names),
      query: queryOf(random, given(random.chance(0.02), { force: "true" })),
    };
    if (patch === "json") return { ...step, body: operations(kind, random) };
    const content = patchContent(stage);
    return { ...step, body: patch === "strategic" ? strategicDirectives(content, random) : content };
  };

function patchContent({ kind, random }: Stage): Json {
  const content = kind.content(random);
  if (random.chance(0.5))
    content.metadata = random.chance(0.2) ? { labels: { app: null, tier: null } } : metadata(random);
  if (random.chance(0.04))
    content.metadata = { ...content.metadata, resourceVersion: random.pick(["<rv>", "<old-rv>"]) };
  const out = withNulls(content, random);
  return random.chance(CORRUPTED_PROBABILITY) ? corrupt(out, random) : out;
}

/** Some fields on the second level asked to go. */
function withNulls(content: Json, random: Random): Json {
  for (const part of Object.values(content as Record<string, Json>)) {
    if (typeof part !== "object" || part === null || Array.isArray(part)) continue;
    for (const key of Object.keys(part)) if (random.chance(0.08)) part[key] = null;
  }
  return content;
}

const editStep: Make = (stage) => ({
  verb: "update",
  edit: true,
  kind: stage.kind.kind,
  name: stage.random.pick(stage.names),
  query: queryOf(stage.random),
  body: {
    ...patchContent(stage),
    ...(stage.random.chance(0.1) && { metadata: { resourceVersion: stage.random.pick([null, "<old-rv>", ""]) } }),
  },
});

const replaceStep: Make = (stage) => {
  const { random } = stage;
  const name = random.pick(stage.names);
  const body = bodyOf(stage, random.chance(0.03) ? "other" : name);
  if (random.chance(0.65))
    body.metadata.resourceVersion = random.weighted([
      [6, "<rv>"],
      [1, "<old-rv>"],
      [0.3, "7"],
    ]);
  return {
    verb: "update",
    kind: stage.kind.kind,
    name,
    query: queryOf(random),
    ...(random.chance(0.02) ? { text: twice(body, random) } : { body: odd(body, random) }),
  };
};

const getStep: Make = ({ kind, names, random }) => ({
  verb: "get",
  kind: kind.kind,
  name: random.pick(names),
  query: given(random.chance(0.1), { resourceVersion: "0" }),
});

function selectors(random: Random): Record<string, string> {
  return {
    ...(random.chance(0.6) && {
      labelSelector: random.pick([
        "app=a",
        "app!=a",
        "app in (a,b)",
        "app notin (a),tier",
        "!app",
        "tier=web,app",
        "empty=",
        "app==b",
        "example.com/x",
        "app in (",
        "=a",
        "app>1",
        "a b",
        "bad!key",
        "app=not ok!",
        ",app=a",
        "app in ()",
      ]),
    }),
    ...(random.chance(0.2) && {
      fieldSelector: random.pick([
        "metadata.name=a",
        "metadata.name!=a",
        "spec.color=red",
        "metadata.name=a,metadata.name!=b",
        "spec.nope=1",
        "metadata.name",
        "type=Opaque",
      ]),
    }),
  };
}

const listStep: Make = ({ kind, random }) => ({
  verb: "list",
  kind: kind.kind,
  query: { ...selectors(random), ...(random.chance(0.5) && { limit: random.pick(["1", "2", "500"]) }) },
});

/** Only tries what only a garbage collector would follow up. */
const deleteStep: Make = ({ kind, names, random }) => {
  const policy = random.weighted<string | undefined>([
    [5, undefined],
    [3, "Background"],
    [1, "Foreground"],
    [1, "Orphan"],
    [0.3, "Other"],
  ]);
  const tried = !kind.namespaced || policy === "Foreground" || policy === "Orphan" || random.chance(0.1);
  const options = {
    ...(policy && { propagationPolicy: policy }),
    ...(tried && { dryRun: ["All"] }),
    ...(random.chance(0.25) && {
      preconditions: random.pick<Json>([
        { uid: "<uid>" },
        { uid: "00000000-0000-0000-0000-000000000000" },
        { resourceVersion: "<rv>" },
        { resourceVersion: "<old-rv>" },
        { uid: "<uid>", resourceVersion: "<rv>" },
      ]),
    }),
    ...(random.chance(0.03) &&
      random.pick<Json>([
        { orphanDependents: true, dryRun: ["All"], ...(policy && { propagationPolicy: policy }) },
        { gracePeriodSeconds: 0 },
        { gracePeriodSeconds: "x" },
        { unknown: 1 },
      ])),
  };
  return {
    verb: "delete",
    kind: kind.kind,
    name: random.pick(names),
    query: {},
    ...(Object.keys(options).length > 0 && { body: options }),
  };
};

const deleteAllStep: Make = ({ kind, random }) => ({
  verb: "deletecollection",
  kind: kind.kind,
  query: { ...selectors(random), ...(random.chance(0.3) && { dryRun: "All" }) },
});

const statusStep: Make = (stage) => {
  const { kind, names, random } = stage;
  const name = random.pick(names);
  const step = { kind: kind.kind, name, subresource: "status" as const };
  const status = maybeCorrupted({ status: kind.status?.(random) ?? {} }, random) as Json;
  const more = {
    ...(random.chance(0.2) && kind.content(random)),
    ...(random.chance(0.2) && { metadata: { labels: labels(random) } }),
  };
  const how = random.weighted<PatchType | "update" | "get">([
    [4, "apply"],
    [3, "merge"],
    [3, "update"],
    [0.5, "get"],
    [kind.builtin ? 2 : 0, "strategic"],
  ]);
  if (how === "get") return { ...step, verb: "get", query: {} };
  if (how === "update")
    return { ...step, verb: "update", edit: true, query: queryOf(random), body: { ...more, ...status } };
  if (how === "apply")
    return {
      ...step,
      verb: "patch",
      patch: "apply",
      query: queryOf(random, {
        fieldManager: random.pick(["a1", "s1"]),
        ...given(random.chance(0.4), { force: "true" }),
      }),
      body: { ...headOf(stage), ...more, metadata: { ...more.metadata, name }, ...status },
    };
  return { ...step, verb: "patch", patch: how, query: queryOf(random), body: { ...more, ...status } };
};

const scaleStep: Make = ({ kind, names, random }) => {
  const step = { kind: kind.kind, name: random.pick(names), subresource: "scale" as const };
  const replicas = random.weighted<Json>([
    [4, 2],
    [4, 5],
    [1, 0],
    [0.5, -1],
    [0.3, "x"],
    [0.3, null],
  ]);
  const how = random.weighted<PatchType | "update" | "get">([
    [3, "merge"],
    [3, "update"],
    [2, "get"],
    [0.5, "json"],
    [0.2, "apply"],
  ]);
  if (how === "get") return { ...step, verb: "get", query: {} };
  if (how === "update")
    return {
      ...step,
      verb: "update",
      edit: true,
      query: queryOf(random),
      body: {
        spec: { replicas },
        ...(random.chance(0.1) && { metadata: { resourceVersion: random.pick([null, "<old-rv>"]) } }),
      },
    };
  if (how === "json")
    return {
      ...step,
      verb: "patch",
      patch: how,
      query: queryOf(random),
      body: [{ op: "replace", path: "/spec/replicas", value: replicas }],
    };
  return {
    ...step,
    verb: "patch",
    patch: how,
    query: queryOf(random, { fieldManager: "a1" }),
    body: {
      ...(how === "apply" && { apiVersion: "autoscaling/v1", kind: "Scale", metadata: { name: step.name } }),
      spec: { replicas },
    },
  };
};

/** Lets objects go that are being deleted. */
const finalizerStep: Make = ({ kind, names, random }) => ({
  verb: "patch",
  patch: "merge",
  kind: kind.kind,
  name: random.pick(names),
  query: {},
  body: { metadata: { finalizers: random.pick<Json>([null, [], ["example.com/a"]]) } },
});

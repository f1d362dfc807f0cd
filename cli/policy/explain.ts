// `cup policy explain`: why an object of a file or of the targeted space is refused.
import { existsSync } from "node:fs";
import type { KubeClient } from "../../kube/client/client.ts";
import { isNotFound } from "../../kube/client/errors.ts";
import type { KubeObject } from "../../kube/api/object.ts";
import { DEFINITIONS } from "../../crds/definitions.ts";
import { SYSTEM_NAMESPACE } from "../../crds/groups.ts";
import type { KindDefinition } from "../../crds/kind.ts";
import { objectNameFor } from "../../crds/object-names.ts";
import { findSubject, listSubjects } from "../../crds/policy-template/subjects.ts";
import { joinVerdicts } from "../../crds/policy-template/verdict.ts";
import type { Context } from "../context.ts";
import { Failure } from "../failure.ts";
import type { Result } from "../output.ts";
import { readDomains } from "../push/render.ts";
import { explainObject, toTable, type ExplainedObject } from "./explanation.ts";
import { findSpace, readNamespaces } from "./find-space.ts";
import { prepareAll, readPolicies } from "./live-policies.ts";
import { placeObject, placesOfSpace, type PlacedObject, type Places } from "./places.ts";
import { readLists } from "./refs.ts";
import { namespacesOf, readSource, toDocuments, toObjects } from "./source.ts";

export interface ExplainOptions {
  as?: string;
  asGroup?: string[];
}

/** Where a command works: the targeted space of a CF API. */
type Target = Pick<Context, "api" | "org" | "space">;

export async function explainPolicies(
  kube: KubeClient,
  target: Target,
  { what, options }: { what: string; options: ExplainOptions },
): Promise<Result> {
  const { as, asGroup = [] } = options;
  const user = as === undefined ? undefined : { name: as, groups: [...asGroup, "system:authenticated"] };
  const objects = existsSync(what) ? await readFile(kube, target, what) : [await readLive(kube, target, what)];
  const policies = await readPolicies(kube);
  const now = new Date();
  const asked = { user, now, list: await readLists(kube, prepareAll(policies, now), objects) };
  return presentExplanations(objects.map((placed) => explainObject(policies, placed, asked)));
}

/** The answer about all objects. Pure. */
export function presentExplanations(explained: readonly ExplainedObject[]): Result {
  const verdict = joinVerdicts(explained.map((one) => one.verdict));
  const objects = explained.map(({ placed: { object }, explanations }) => ({
    object: {
      kind: object.kind,
      ...(object.metadata.namespace && { namespace: object.metadata.namespace }),
      name: object.metadata.name,
    },
    constraints: explanations,
  }));
  return {
    json: { verdict, objects },
    text: [...explained.flatMap((one) => [...toTable(one), ""]), nextStep(explained)],
  };
}

/** The last line: who can do what about it. */
function nextStep(explained: readonly ExplainedObject[]): string {
  const all = explained.flatMap(({ explanations }) => explanations);
  const refusing = all.find(({ action, sentences }) => action === "deny" && sentences.length > 0);
  if (!refusing) return "No constraint refuses it.";
  return `Next: change what the sentence names, or ask an operator for an exception; cup policy show ${refusing.constraint.toLowerCase()}`;
}

async function readFile(kube: KubeClient, target: Target, file: string): Promise<PlacedObject[]> {
  const source = readSource([file], {});
  const domains =
    source.applications.length > 0 ? await readDomains(target) : { domains: [], defaultDomain: undefined };
  const places = {
    ...(await targetedPlaces(kube, target)),
    byNamespace: await readNamespaces(kube, namespacesOf(source)),
  };
  const { objects, faults } = toObjects(toDocuments(source, domains), places);
  const [fault] = faults;
  if (fault !== undefined) throw new Failure(fault, { kind: "usage", next: `correct ${file}, then ask again` });
  if (objects.length > 0) return objects;
  throw new Failure(`${file} has no object that a policy judges`, {
    kind: "usage",
    next: "cup policy explain app/NAME",
  });
}

/** @throws Failure when the targeted space is not known */
async function targetedPlaces(kube: KubeClient, target: Target): Promise<Places> {
  const space = await findSpace(kube, target);
  if (space) return placesOfSpace(space);
  throw new Failure(`the namespace of space ${(await target.space()).name} is not known to you`, {
    next: "judge a file by the names of org and space: cup policy test -f FILE --org NAME --space NAME",
  });
}

async function readLive(kube: KubeClient, target: Target, what: string): Promise<PlacedObject> {
  const slash = what.indexOf("/");
  if (slash < 1)
    throw new Failure(`there is no file ${what}`, { kind: "usage", next: "cup policy explain FILE, or app/NAME" });
  const [kind, name] = [what.slice(0, slash), what.slice(slash + 1)];
  const definition = findKind(kind);
  const [home] = definition.livesIn ?? ["system"];
  const isOfSystem = !definition.namespaced || home === "system";
  const places = isOfSystem ? {} : await targetedPlaces(kube, target);
  const namespace = namespaceOf(definition, places);
  const found = await findLive(kube, definition, { name, ...(namespace !== undefined && { namespace }) });
  if (!found)
    throw new Failure(`there is no ${definition.kind} ${name}${namespace === undefined ? "" : ` in ${namespace}`}`, {
      next: `kubectl get ${definition.plural}.${definition.group}${namespace === undefined ? "" : ` -n ${namespace}`}`,
    });
  return placeObject(found, definition, places);
}

function namespaceOf({ namespaced, livesIn }: KindDefinition, { org, space }: Places): string | undefined {
  if (!namespaced) return undefined;
  const [home] = livesIn ?? ["system"];
  return home === "space" ? space?.namespace : home === "org" ? org?.namespace : SYSTEM_NAMESPACE;
}

/** @throws Failure (usage) */
function findKind(word: string): KindDefinition {
  const name = word.toLowerCase();
  const found = DEFINITIONS.find(({ kind, plural, singular, shortNames }) =>
    [kind.toLowerCase(), plural, singular, ...shortNames].includes(name),
  );
  if (found && findSubject(found.kind)) return found;
  throw new Failure(`no policy judges objects of a kind ${word}`, {
    kind: "usage",
    next: `the kinds are ${listSubjects().join(", ")}`,
  });
}

/** By its object name, or by the one that follows from its CF name, or by the CF name. */
async function findLive(
  kube: KubeClient,
  definition: KindDefinition,
  { name, namespace }: { name: string; namespace?: string },
): Promise<KubeObject | undefined> {
  const within = namespace === undefined ? {} : { namespace };
  for (const candidate of new Set([name, objectNameFor(name, definition.singular)])) {
    const found = await kube.find(definition, { ...within, name: candidate }).catch((error: unknown) => {
      if (isNotFound(error)) return undefined;
      throw error;
    });
    if (found) return found;
  }
  const { items } = await kube.list(definition, within);
  return items.find(({ spec }) => (spec as { name?: unknown } | undefined)?.name === name);
}

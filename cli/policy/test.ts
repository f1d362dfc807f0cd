// `cup policy test`: judges files at rest by the constraints of a folder or of the cluster.
import type { KubeClient } from "../../kube/client/client.ts";
import { withPlanned } from "../../crds/policy-template/refs.ts";
import type { JudgingConstraint } from "../../crds/policy-template/evaluate.ts";
import { makeContext, type Context } from "../context.ts";
import { EXIT_CODES, Failure } from "../failure.ts";
import { table, type Progress, type Result } from "../output.ts";
import { readDomains, type Domains } from "../push/render.ts";
import { withCluster } from "./cluster.ts";
import { readFolder } from "./documents.ts";
import { findSpace, readNamespaces } from "./find-space.ts";
import {
  exitCodeOf,
  judge,
  leaveOpen,
  summarise,
  toRows,
  type Caller,
  type FailOn,
  type Given as JudgingFacts,
  type Judgement,
} from "./judge.ts";
import { prepareAll, readPolicies } from "./live-policies.ts";
import { placesOfSpace, toPlaces, type PlacedObject, type PlaceOptions, type Places } from "./places.ts";
import { listPlaced, readLists } from "./refs.ts";
import { toFolderPolicies } from "./policy-folder.ts";
import {
  appsWithoutDomain,
  namespacesOf,
  readSource,
  toDocuments,
  toObjects,
  type Source,
  type VariableOptions,
} from "./source.ts";

export interface TestOptions extends PlaceOptions, VariableOptions {
  file: string[];
  policies?: string;
  refs?: string[];
  domain?: string[];
  as?: string;
  asGroup?: string[];
  failOn?: FailOn;
}

/** Facts that files do not have. */
interface Facts {
  constraints: JudgingConstraint[];
  places: Places;
  domains: Domains;
}

/** @throws Failure, never with exit code 1: that one says that a policy refuses */
export async function testPolicies(progress: Progress, options: TestOptions): Promise<Result> {
  try {
    return await runTest(progress, options);
  } catch (error) {
    throw error instanceof Failure && error.exitCode !== EXIT_CODES.failed ? error : toUndecided(error);
  }
}

function toUndecided(error: unknown): Failure {
  const message = error instanceof Error ? error.message : String(error);
  const next = error instanceof Failure ? error.next : undefined;
  return new Failure(message, { exitCode: EXIT_CODES.usage, cause: error, ...(next !== undefined && { next }) });
}

async function runTest(progress: Progress, options: TestOptions): Promise<Result> {
  const named = toPlaces(options);
  const source = readSource(options.file, options);
  const { policies, failOn = "deny" } = options;
  const { judgement, constraints } =
    policies === undefined
      ? await withCluster((kube) => judgeLive(kube, progress, { options, named, source }))
      : judgeByFolder(policies, { options, named, source });
  return present(judgement, constraints, failOn);
}

interface Judged {
  judgement: Judgement;
  constraints: JudgingConstraint[];
}

function judgeByFolder(folder: string, { options, named, source }: Given): Judged {
  const constraints = readConstraints(folder);
  const facts = { constraints, places: named, domains: namedDomains(options) };
  const objects = readObjects(source, facts);
  const existing = options.refs && readObjects(readSource(options.refs, {}), facts);
  const list =
    existing &&
    withPlanned(
      listPlaced([...existing, ...objects]),
      objects.map(({ object }) => object),
    );
  const listNext = "add --refs FILE with the objects that its rules read";
  return { judgement: judgeSource(source, facts, { objects, user: callerOf(options), list, listNext }), constraints };
}

async function judgeLive(kube: KubeClient, progress: Progress, given: Given): Promise<Judged> {
  const { options, source } = given;
  const facts = await readFacts(kube, progress, given);
  const objects = readObjects(source, facts);
  const { constraints } = facts;
  const list = await readLists(kube, constraints, objects);
  return { judgement: judgeSource(source, facts, { objects, user: callerOf(options), list }), constraints };
}

function readConstraints(folder: string): JudgingConstraint[] {
  const { constraints, faults } = toFolderPolicies(readFolder(folder), new Date());
  refuseFaults(folder, faults);
  if (constraints.length > 0) return constraints;
  throw new Failure(`${folder} has no constraints, so everything would be allowed`, {
    kind: "usage",
    next: "name a folder with objects of the group constraints.cupola.dev",
  });
}

/** @throws Failure (usage) unless there is none */
function refuseFaults(where: string, faults: readonly string[]): void {
  if (faults.length === 0) return;
  const text =
    faults.length === 1 ? faults[0] : `${where} has ${faults.length} faults:\n${faults.map(indent).join("\n")}`;
  throw new Failure(text ?? "", { kind: "usage", next: "correct it, then test again" });
}

const indent = (line: string): string => `  ${line}`;

function namedDomains({ domain = [] }: TestOptions): Domains {
  return { domains: domain, defaultDomain: domain[0] };
}

function callerOf({ as, asGroup = [] }: TestOptions): Caller | undefined {
  return as === undefined ? undefined : { name: as, groups: [...asGroup, "system:authenticated"] };
}

interface Given {
  options: TestOptions;
  named: Places;
  source: Source;
}

async function readFacts(kube: KubeClient, progress: Progress, { options, named, source }: Given): Promise<Facts> {
  const constraints = prepareAll(await readPolicies(kube), new Date());
  const needsDomains = options.domain === undefined && source.applications.length > 0;
  const context = named.org && !needsDomains ? undefined : await findContext(progress);
  return {
    constraints,
    places: named.org ? named : await readPlaces(kube, context, source),
    domains: (needsDomains && context && (await readDomains(context).catch(withoutTarget))) || namedDomains(options),
  };
}

/** A cluster without a targeted CF API has no targeted space. */
async function findContext(progress: Progress): Promise<Context | undefined> {
  return makeContext(progress).catch(withoutTarget);
}

function withoutTarget(error: unknown): undefined {
  if (error instanceof Failure && error.kind === "target") return undefined;
  throw error;
}

async function readPlaces(kube: KubeClient, context: Context | undefined, source: Source): Promise<Places> {
  const byNamespace = await readNamespaces(kube, namespacesOf(source));
  const space = context && (await findSpace(kube, context).catch(withoutTarget));
  return { ...(space && placesOfSpace(space)), byNamespace };
}

/** @throws Failure (usage) when one is invalid */
function readObjects(source: Source, { domains, places }: Facts): PlacedObject[] {
  const { objects, faults } = toObjects(toDocuments(source, domains), places);
  refuseFaults("the input", faults);
  return objects;
}

/** Judges all objects of the files. @throws Failure (usage) when there is none */
function judgeSource(
  source: Source,
  facts: Facts,
  { objects, ...given }: JudgingFacts & { objects: readonly PlacedObject[] },
): Judgement {
  if (objects.length === 0)
    throw new Failure("the files have no object that a policy judges", {
      kind: "usage",
      next: "name a manifest.yml, or YAML with objects of the group cupola.dev",
    });
  const judgement = judge(facts.constraints, objects, given);
  const [app] = appsWithoutDomain(source, facts.domains);
  if (app === undefined) return judgement;
  const onRoutes = facts.constraints.filter(({ template }) => template.subjects.includes("Route"));
  return leaveOpen(judgement, onRoutes, `add --domain NAME: the default route of ${app} is on it`);
}

/** The verdict as it is, or a line for each violation. */
export function present(judgement: Judgement, constraints: readonly JudgingConstraint[], failOn: FailOn): Result {
  const rows = toRows(judgement, constraints);
  return {
    json: judgement.verdict,
    text: [...(rows.length > 0 ? table(["", "", "", ""], rows).slice(1) : []), summarise(judgement)],
    exitCode: exitCodeOf(judgement, failOn),
  };
}

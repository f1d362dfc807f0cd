// Judges the objects of files by constraints, and says which constraints cannot be decided about them. Pure.
import { constraintId } from "../../crds/policy-template/constraint.ts";
import { evaluate, type JudgingConstraint } from "../../crds/policy-template/evaluate.ts";
import { createRefs, type ListObjects } from "../../crds/policy-template/refs.ts";
import {
  joinVerdicts,
  toSentence,
  toVerdict,
  type JudgedObject,
  type Verdict,
} from "../../crds/policy-template/verdict.ts";
import type { PlacedObject } from "./places.ts";

export interface Caller {
  name: string;
  groups: readonly string[];
}

/** A constraint that lacks a fact, and the option that gives it. */
export interface Undecided {
  constraint: string;
  next: string;
}

export interface Judgement {
  verdict: Verdict;
  /** Each constraint once. Those that read oldObject are in verdict.skipped alone: a file has no object before. */
  undecided: Undecided[];
  objects: number;
}

/** Facts beside the objects. */
export interface Given {
  user?: Caller | undefined;
  /** Objects that rules read. */
  list?: ListObjects | undefined;
  /** The option that gives them. */
  listNext?: string | undefined;
}

export function judge(
  constraints: readonly JudgingConstraint[],
  objects: readonly PlacedObject[],
  { user, list, listNext }: Given = {},
): Judgement {
  const undecided = new Map<string, string>();
  const verdicts = objects.map((placed) => {
    const subject = constraints.filter((one) => isSubject(one, placed));
    const open = subject.filter((one) => lacks(one, placed, user) !== undefined);
    for (const one of open) undecided.set(constraintId(one.constraint), lacks(one, placed, user) ?? "");
    const { object, namespaceLabels } = placed;
    const refs = list && createRefs(list, placed);
    const review = { point: "ci", operation: "CREATE", object, namespaceLabels, user, refs } as const;
    const verdict = evaluate(
      subject.filter((one) => !open.includes(one)),
      review,
    );
    for (const id of verdict.unknown) undecided.set(id, listNext ?? "its rules read objects that you may not list");
    return joinVerdicts([verdict, skip(open)]);
  });
  return {
    verdict: joinVerdicts(verdicts),
    undecided: [...undecided].map(([constraint, next]) => ({ constraint, next })),
    objects: objects.length,
  };
}

/** The judgement with constraints that cannot be decided about an object which is not known. */
export function leaveOpen(judgement: Judgement, constraints: readonly JudgingConstraint[], next: string): Judgement {
  const open = constraints.map(({ constraint }) => ({ constraint: constraintId(constraint), next }));
  const known = new Set(judgement.undecided.map(({ constraint }) => constraint));
  return {
    ...judgement,
    verdict: joinVerdicts([judgement.verdict, skip(constraints)]),
    undecided: [...judgement.undecided, ...open.filter(({ constraint }) => !known.has(constraint))],
  };
}

function skip(constraints: readonly JudgingConstraint[]): Verdict {
  return toVerdict(
    [],
    constraints.map(({ constraint }) => constraintId(constraint)),
  );
}

/** Files are judged as if their objects were created. */
function isSubject({ template }: JudgingConstraint, { object }: PlacedObject): boolean {
  return template.subjects.includes(object.kind) && template.operations.includes("CREATE");
}

/** The option that gives a missing fact; undefined when nothing is missing that an option can give. */
function lacks(one: JudgingConstraint, { isPlaceKnown }: PlacedObject, user: Caller | undefined): string | undefined {
  if (!isPlaceKnown && readsPlace(one)) return "add --org NAME and --space NAME";
  return one.template.needs.includes("user") && user === undefined ? "add --as USER" : undefined;
}

function readsPlace({ template, constraint }: JudgingConstraint): boolean {
  const { orgs, spaces, orgLabels, spaceLabels, except } = constraint.spec.match ?? {};
  if ([orgs, spaces, orgLabels, spaceLabels, except?.length ? except : undefined].some((part) => part !== undefined))
    return true;
  if (template.reads?.some(({ scope }) => scope !== "platform")) return true;
  const texts = [...template.rules, ...template.variables].map(({ expression }) => expression);
  return texts.some((text) => /\bvariables\.(?:org|space)\b/.test(text));
}

export type FailOn = "deny" | "warn";

/** 0: allowed. 1: refused. 2: not decided. */
export function exitCodeOf({ verdict: { violations }, undecided }: Judgement, failOn: FailOn): number {
  const fails = violations.some(({ action }) => action === "deny" || (failOn === "warn" && action === "warn"));
  if (fails) return 1;
  return undecided.length > 0 ? 2 : 0;
}

/** Lines for people: a violation each, then undecided and skipped constraints, then the sum. */
export function toRows(judgement: Judgement, constraints: readonly JudgingConstraint[]): string[][] {
  const titles = new Map(constraints.map(({ template }) => [template.kind, template.title]));
  const { verdict, undecided } = judgement;
  const open = new Set(undecided.map(({ constraint }) => constraint));
  return [
    ...verdict.violations.map((violation) => [
      violation.action,
      `${violation.object.kind}/${violation.object.name}`,
      violation.field ?? "",
      toSentence(titles.get(violation.template) ?? violation.template, violation),
    ]),
    ...undecided.map(({ constraint, next }) => ["undecided", constraint, "", next]),
    ...verdict.skipped
      .filter((constraint) => !open.has(constraint))
      .map((constraint) => [
        "skipped",
        constraint,
        "",
        "it compares with the object before, which a file does not have",
      ]),
  ];
}

export function summarise({ verdict: { violations }, undecided, objects }: Judgement): string {
  const count = (action: string): number =>
    new Set(violations.filter((one) => one.action === action).map(({ object }) => keyOf(object))).size;
  const open = undecided.length > 0 ? `, ${undecided.length} undecided` : "";
  return `${objects} ${objects === 1 ? "object" : "objects"} judged, ${count("deny")} denied, ${count("warn")} warned${open}`;
}

function keyOf({ kind, namespace = "", name }: JudgedObject): string {
  return `${kind}/${namespace}/${name}`;
}

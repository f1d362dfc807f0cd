// The verdict about the start of an app or a task, by the constraints that deny there. Pure.
import type { KubeObject } from "../../kube/api/object.ts";
import { actionAtStart, constraintId } from "./constraint.ts";
import { evaluate, readsOthersFor, toUndecidedSentence, type JudgingConstraint } from "./evaluate.ts";
import { titleOf, type Policies } from "./policies.ts";
import { createRefs, type ListObjects } from "./refs.ts";
import { toSentence } from "./verdict.ts";

/** Sentences; a start with neither is allowed. */
export interface StartVerdict {
  denied: string[];
  undecided: string[];
  /** Whether a constraint judges by other objects, which may have been created at the same time. */
  readsOthers: boolean;
}

export const ALLOWED_START: StartVerdict = { denied: [], undecided: [], readsOthers: false };

export interface StartFacts {
  /** Labels of the namespace of the objects; undefined while it is not known. */
  namespaceLabels: Readonly<Record<string, string>> | undefined;
  list: ListObjects;
}

/** The constraints that may hold a start back, by kind of the judged object. */
export function listStartConstraints({ bySubject }: Policies, kind: string): JudgingConstraint[] {
  return (bySubject.get(kind) ?? []).filter(
    ({ template, constraint }) => actionAtStart(template, constraint) === "deny",
  );
}

/** Judges the objects that a start takes a snapshot of, as they are stored. `facts` are asked for only when a constraint judges one of them. */
export function judgeStart(policies: Policies, objects: readonly KubeObject[], facts: () => StartFacts): StartVerdict {
  const verdict: StartVerdict = { denied: [], undecided: [], readsOthers: false };
  for (const object of objects) {
    const constraints = listStartConstraints(policies, object.kind);
    if (constraints.length === 0) continue;
    const { namespaceLabels, list } = facts();
    if (!namespaceLabels) {
      verdict.undecided.push(
        `operator policy cannot be decided now, since the labels of namespace ${object.metadata.namespace} are not known`,
      );
      continue;
    }
    const refs = createRefs(list, { object, namespaceLabels });
    const review = { point: "start", operation: "CREATE", object, namespaceLabels, refs } as const;
    verdict.readsOthers ||= constraints.some((one) => readsOthersFor(one, review));
    const { violations, unknown } = evaluate(constraints, review);
    verdict.denied.push(...violations.map((one) => toSentence(titleOf(policies, one), one)));
    const open = constraints.filter(({ constraint }) => unknown.includes(constraintId(constraint)));
    verdict.undecided.push(...open.map(toUndecidedSentence));
  }
  return { ...verdict, denied: [...new Set(verdict.denied)], undecided: [...new Set(verdict.undecided)] };
}

// Finds the BackendClass for a request: the named one, else the default of the role. Pure.
import type { BackendClass } from "./backend-class.ts";

export type BackendRole = BackendClass["spec"]["role"];

export interface ClassSelector {
  role: BackendRole;
  /** The class that the user named; undefined means the role's default. */
  className: string | undefined;
  /** A required capability: a key of status.capabilities whose words must include `word`. A class without that key qualifies. */
  requires?: { capability: string; word: string };
}

/** Why no class serves the request. */
export interface ClassProblem {
  reason: "ClassMissing" | "NotSupported" | "NoDefaultClass";
  message: string;
}

export function findClass(classes: readonly BackendClass[], selector: ClassSelector): BackendClass | ClassProblem {
  return selector.className === undefined
    ? findDefaultClass(classes, selector)
    : findNamedClass(classes, selector, selector.className);
}

export function isClassProblem(found: BackendClass | ClassProblem): found is ClassProblem {
  return "reason" in found;
}

function findNamedClass(
  classes: readonly BackendClass[],
  selector: ClassSelector,
  name: string,
): BackendClass | ClassProblem {
  const { role } = selector;
  const found = classes.find((candidate) => candidate.metadata.name === name && candidate.spec.role === role);
  if (!found)
    return {
      reason: "ClassMissing",
      message: `there is no ${role} class ${name}; kubectl get backendclasses lists them`,
    };
  if (!isCapable(found, selector))
    return {
      reason: "NotSupported",
      message: `the ${role} class ${name} does not take ${describeRequirement(selector)}; name another one`,
    };
  return found;
}

function findDefaultClass(classes: readonly BackendClass[], selector: ClassSelector): BackendClass | ClassProblem {
  const { role } = selector;
  const ofRole = classes.filter((candidate) => candidate.spec.role === role);
  // The only class of a role is its default.
  const defaults = ofRole.length === 1 ? ofRole : ofRole.filter((candidate) => candidate.spec.default);
  const [found] = defaults
    .filter((candidate) => isCapable(candidate, selector))
    .toSorted((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1));
  if (found) return found;
  const need = selector.requires ? ` that takes ${describeRequirement(selector)}` : "";
  return {
    reason: "NoDefaultClass",
    message: `there is no default ${role} class${need}; name a class that does, or mark one by spec.default (kubectl get backendclasses)`,
  };
}

function describeRequirement({ requires }: ClassSelector): string {
  return requires ? `${requires.word} (${requires.capability})` : "it";
}

function isCapable(candidate: BackendClass, { requires }: ClassSelector): boolean {
  const words = requires && candidate.status?.capabilities?.[requires.capability];
  return words === undefined || words.split(/[\s,]+/).includes(requires?.word ?? "");
}

// Which BackendClass serves something: the named one, else the default of its role. Pure.
import type { BackendClass } from "../../crds/backend-class/backend-class.ts";
import { NotReady, Stalled } from "../../kube/controller/controller.ts";

export type BackendRole = BackendClass["spec"]["role"];

export interface ClassSelector {
  role: BackendRole;
  /** The class that a person named; the role's default when undefined. */
  className: string | undefined;
  /** What it must be able to do: a key of status.capabilities whose words must hold `word`. A class that does not say can do it. */
  requires?: { capability: string; word: string };
}

/**
 * @throws Stalled when the named class is missing, of another role, or cannot do it
 * @throws NotReady when there is no default class (yet) that can do it
 */
export function chooseClass(classes: readonly BackendClass[], selector: ClassSelector): BackendClass {
  return selector.className === undefined
    ? getDefaultClass(classes, selector)
    : getNamedClass(classes, selector, selector.className);
}

function getNamedClass(classes: readonly BackendClass[], choice: ClassSelector, name: string): BackendClass {
  const found = classes.find((candidate) => candidate.metadata.name === name && candidate.spec.role === choice.role);
  if (!found)
    throw new Stalled(
      "ClassMissing",
      `there is no ${choice.role} class ${name}; kubectl get backendclasses lists them`,
    );
  if (!isCapable(found, choice))
    throw new Stalled(
      "NotSupported",
      `the ${choice.role} class ${name} cannot do ${choice.requires?.capability}: ${choice.requires?.word}`,
    );
  return found;
}

function getDefaultClass(classes: readonly BackendClass[], choice: ClassSelector): BackendClass {
  const ofRole = classes.filter((candidate) => candidate.spec.role === choice.role);
  // The only class of a role is its default: an installation with one runner needs no mark.
  const defaults = ofRole.length === 1 ? ofRole : ofRole.filter((candidate) => candidate.spec.default);
  const found = defaults
    .filter((candidate) => isCapable(candidate, choice))
    .toSorted((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1))[0];
  const need = choice.requires ? ` for ${choice.requires.capability}: ${choice.requires.word}` : "";
  if (!found)
    throw new NotReady(
      "NoDefaultClass",
      `there is no default ${choice.role} class${need}; name one, or mark one by spec.default`,
    );
  return found;
}

function isCapable(candidate: BackendClass, { requires }: ClassSelector): boolean {
  const values = requires && candidate.status?.capabilities?.[requires.capability];
  return values === undefined || values.split(/[\s,]+/).includes(requires?.word ?? "");
}

// Which BackendClass serves something: the named one, else the default of its role. Pure.
import type { BackendClass } from "../../crds/backend-class/backend-class.ts";
import { NotReady, Stalled } from "../../kube/controller/controller.ts";

export type Role = BackendClass["spec"]["role"];

export interface ClassChoice {
  role: Role;
  /** The class that a person named; the role's default when undefined. */
  named: string | undefined;
  /** What it must be able to do: a key of status.capabilities whose words must hold `word`. A class that does not say can do it. */
  able?: { capability: string; word: string };
}

/**
 * @throws Stalled when the named class is missing, of another role, or cannot do it
 * @throws NotReady when there is no default class (yet) that can do it
 */
export function chooseClass(classes: readonly BackendClass[], choice: ClassChoice): BackendClass {
  return choice.named === undefined ? defaultClass(classes, choice) : namedClass(classes, choice, choice.named);
}

function namedClass(classes: readonly BackendClass[], choice: ClassChoice, name: string): BackendClass {
  const found = classes.find((candidate) => candidate.metadata.name === name && candidate.spec.role === choice.role);
  if (!found) throw new Stalled("ClassMissing", `there is no ${choice.role} class ${name}; kubectl get backendclasses lists them`);
  if (!isAble(found, choice)) throw new Stalled("NotSupported", `the ${choice.role} class ${name} cannot do ${choice.able?.capability}: ${choice.able?.word}`);
  return found;
}

function defaultClass(classes: readonly BackendClass[], choice: ClassChoice): BackendClass {
  const found = classes
    .filter((candidate) => candidate.spec.role === choice.role && candidate.spec.default && isAble(candidate, choice))
    .toSorted((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1))[0];
  const need = choice.able ? ` for ${choice.able.capability}: ${choice.able.word}` : "";
  if (!found) throw new NotReady("NoDefaultClass", `there is no default ${choice.role} class${need}; name one, or mark one by spec.default`);
  return found;
}

function isAble(candidate: BackendClass, { able }: ClassChoice): boolean {
  const said = able && candidate.status?.capabilities?.[able.capability];
  return said === undefined || said.split(/[\s,]+/).includes(able?.word ?? "");
}

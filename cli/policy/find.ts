// Finds a template or a constraint by the name on the command line. Pure.
import { constraintId, type Constraint } from "../../crds/policy-template/constraint.ts";
import { Failure } from "../failure.ts";
import type { Policy } from "./live-policies.ts";

/** A template without `constraint`, or a constraint with its template. */
export interface Found {
  policy: Policy;
  constraint?: Constraint;
}

/** @param name `kind/name` of a constraint, the name of a template, or a name that only one constraint has. @throws Failure */
export function findPolicy(policies: readonly Policy[], name: string): Found {
  const slash = name.indexOf("/");
  const kind = (slash < 0 ? name : name.slice(0, slash)).toLowerCase();
  const template = policies.find((one) => one.template.spec.kind.toLowerCase() === kind);
  if (slash < 0 && template) return { policy: template };
  const [found, ...others] =
    slash < 0 ? named(policies, name) : named(template ? [template] : [], name.slice(slash + 1));
  if (!found) throw new Failure(`no template and no constraint is called ${name}`, { next: "cup policy list" });
  if (others.length === 0) return found;
  const all = [found, ...others].map(({ constraint }) => constraintId(constraint));
  throw new Failure(`${all.length} constraints are called ${name}: ${all.join(", ")}`, {
    kind: "usage",
    next: `name its kind, too: ${all[0]}`,
  });
}

function named(policies: readonly Policy[], name: string): Required<Found>[] {
  return policies.flatMap((policy) =>
    (policy.constraints ?? [])
      .filter(({ metadata }) => metadata.name === name)
      .map((constraint) => ({ policy, constraint })),
  );
}

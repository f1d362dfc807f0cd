// Random questions to an authorizer: half of them aimed at what some rule says, so that yes and no are both common. Pure.
import type { PolicyRule, AccessAttributes, RbacUser } from "../../../kube/rbac/types.ts";
import {
  API_GROUPS,
  GROUPS,
  NAMES,
  NAMESPACES,
  PATHS,
  type Policy,
  RESOURCES,
  SUBRESOURCES,
  USERS,
  VERBS,
} from "./policies.ts";
import type { Random } from "./random.ts";

/** A question and who asks it. */
export interface Case {
  user: RbacUser;
  question: AccessAttributes;
}

/** As many cases as asked, over the policies that are in force. */
export function makeCases(random: Random, policies: readonly Policy[], count: number): Case[] {
  const bindings = policies.filter((one) => one.subjects?.length);
  return Array.from({ length: count }, () =>
    bindings.length > 0 && random.chance(75)
      ? aimed(random, policies, random.pick(bindings))
      : { user: anyUser(random), question: anyQuestion(random) },
  );
}

function anyUser(random: Random): RbacUser {
  const groups = random.some(GROUPS, 0, 3);
  const masters = random.chance(1) ? ["system:masters"] : [];
  // A review may name groups alone.
  const name = groups.length > 0 && random.chance(5) ? "" : random.pick(USERS);
  return { name, groups: [...groups, ...masters] };
}

function anyQuestion(random: Random): AccessAttributes {
  if (random.chance(20)) return { verb: random.pick(VERBS), path: random.pick([...PATHS, "/healthzz", "/a/x/c", ""]) };
  return {
    verb: random.pick(VERBS),
    group: random.pick([...API_GROUPS, "other.example"]),
    resource: random.pick(RESOURCES),
    subresource: random.chance(50) ? "" : random.pick(SUBRESOURCES),
    namespace: anyNamespace(random),
    name: random.pick([...NAMES, "", "", "four"]),
  };
}

function anyNamespace(random: Random): string {
  return random.pick(["", ...NAMESPACES, ...NAMESPACES, "rd-z"]);
}

/** A subject of a binding asks for the access that a rule of its role gives, with at most one part of it changed. */
function aimed(random: Random, policies: readonly Policy[], binding: Policy): Case {
  const user = userOf(random, binding);
  const role = policies.find(
    (one) =>
      one.kind === binding.roleRef?.kind &&
      one.name === binding.roleRef.name &&
      (one.namespace ?? binding.namespace) === binding.namespace,
  );
  const rules = role?.rules ?? [];
  if (rules.length === 0) return { user, question: anyQuestion(random) };
  return {
    user,
    question: twisted(random, questionOf(random, random.pick(rules), binding.namespace ?? anyNamespace(random))),
  };
}

function userOf(random: Random, binding: Policy): RbacUser {
  const subject = random.pick(binding.subjects ?? []);
  if (subject.kind === "Group")
    return { name: random.pick(USERS), groups: [subject.name, ...random.some(GROUPS, 0, 1)] };
  return {
    name: subject.kind === "User" ? subject.name : `system:serviceaccount:${subject.namespace}:${subject.name}`,
    groups: random.some(GROUPS, 0, 2),
  };
}

function questionOf(random: Random, rule: PolicyRule, namespace: string): AccessAttributes {
  const verb = random.pick(rule.verbs);
  if (rule.nonResourceURLs)
    return { verb, path: random.pick(rule.nonResourceURLs).replace(/\*+$/, () => random.pick(["", "x", "x/y"])) };
  const [resource = "", ...subresource] = random.pick(rule.resources ?? []).split("/");
  return {
    verb,
    group: random.pick(rule.apiGroups ?? []),
    resource,
    subresource: subresource.join("/"),
    namespace,
    name: random.pick(rule.resourceNames ?? NAMES),
  };
}

function twisted(random: Random, question: AccessAttributes): AccessAttributes {
  if (random.chance(50)) return question;
  const other = anyQuestion(random);
  if ("path" in question)
    return "path" in other ? { ...question, path: other.path } : { ...question, verb: other.verb };
  if ("path" in other) return { ...question, verb: other.verb };
  const part = random.pick(["verb", "group", "resource", "subresource", "namespace", "name"] as const);
  return { ...question, [part]: other[part] };
}

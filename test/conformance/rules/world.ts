// Two orgs with a space each, and what a row asks of them: by the CF API, by kubectl, and of the controllers.
import { expect } from "vitest";
import type { Condition } from "../../../kube/api/object.ts";
import { eventually } from "../../eventually.ts";
import type { Answer, Json } from "../kubernetes/api.ts";
import {
  base,
  makeOrgAndSpace,
  startTestEnv,
  to,
  type OrgAndSpace,
  type ServerUnderTest,
  type TestEnv,
  type TestUser,
} from "../permissions/test-env.ts";

export interface RuleRow {
  /** As the first cell of its row in docs/security.md says it. */
  rule: string;
  shows: (world: RuleWorld) => Promise<void>;
}

export interface RuleWorld {
  env: TestEnv;
  /** Everybody with a CF role has it here. */
  mine: OrgAndSpace;
  /** Only admins may do anything here. */
  theirs: OrgAndSpace;
}

export async function createRuleWorld(server: ServerUnderTest): Promise<RuleWorld> {
  const env = await startTestEnv(server);
  const mine = await makeOrgAndSpace(env, "mine");
  const org = (await env.make("/v3/organizations", { name: "theirs" })).guid;
  const space = (await env.make("/v3/spaces", { name: "one", relationships: { organization: to(org) } })).guid;
  return { env, mine, theirs: { org, space, orgNamespace: "theirs", spaceNamespace: "theirs-one" } };
}

/** The folder of a kind in a namespace. */
export const at = (namespace: string, plural: string): string => `${base}/namespaces/${namespace}/${plural}`;

export interface ObjectToMake {
  kind: string;
  namespace: string;
  name: string;
  spec: object;
  annotations?: Record<string, string>;
}

const PLURALS: Record<string, string> = { Process: "processes" };
export const pathOf = ({ kind, namespace, name }: Omit<ObjectToMake, "spec">): string =>
  `${at(namespace, PLURALS[kind] ?? `${kind.toLowerCase()}s`)}/${name}`;

/** `kubectl create`, with the answer as it came. */
export function kubectl({ env }: RuleWorld, person: TestUser, object: ObjectToMake): Promise<Answer> {
  const { kind, namespace, name, spec, annotations = {} } = object;
  return env.at(person).post(pathOf(object).slice(0, -name.length - 1), {
    apiVersion: "cupola.dev/v1alpha1",
    kind,
    metadata: { name, namespace, annotations },
    spec,
  });
}

/** The object is there. */
export async function made(world: RuleWorld, object: ObjectToMake, person: TestUser = "admin"): Promise<Json> {
  const answer = await kubectl(world, person, object);
  expect([answer.status, answer.text]).toEqual([201, expect.anything()]);
  return answer.body;
}

/** Kubernetes takes the object, and the controllers say this of it: they have not put it in force. */
export async function saysOf(world: RuleWorld, object: Omit<ObjectToMake, "spec">, reason: string): Promise<Json> {
  return eventually(async () => {
    const { body } = await world.env.kubernetes.get(pathOf(object));
    const ready = body.status?.conditions?.find(({ type }: Condition) => type === "Ready");
    expect([object.name, ready?.reason, ready?.message]).toEqual([object.name, reason, expect.any(String)]);
    return body;
  });
}

/** Made with kubectl, and not put in force for this reason. */
export async function notInForce(
  world: RuleWorld,
  person: TestUser,
  object: ObjectToMake,
  reason: string,
): Promise<Json> {
  await made(world, object, person);
  return saysOf(world, object, reason);
}

/** The controllers have put it in force. */
export async function inForce({ env }: RuleWorld, object: Omit<ObjectToMake, "spec">): Promise<Json> {
  return eventually(async () => {
    const { body } = await env.kubernetes.get(pathOf(object));
    const ready = body.status?.conditions?.find(({ type }: Condition) => type === "Ready");
    expect([object.name, ready?.status, ready?.message]).toEqual([object.name, "True", expect.any(String)]);
    return body;
  });
}

/** Deleted, and gone. */
export async function removed({ env }: RuleWorld, object: Omit<ObjectToMake, "spec">): Promise<void> {
  await env.kubernetes.delete(pathOf(object));
  await eventually(async () => expect((await env.kubernetes.get(pathOf(object))).status).toBe(404));
}

/** Kubernetes refuses it. */
export function refused(answer: Answer, message: RegExp): void {
  expect([answer.status, answer.body.message]).toEqual([
    expect.toSatisfy((status: number) => status === 403 || status === 422),
    expect.stringMatching(message),
  ]);
}

/** The CF API refuses it. */
export async function cfRefuses(
  { env }: RuleWorld,
  person: TestUser,
  [method, path, body]: [method: string, path: string, body?: unknown],
  detail: RegExp,
): Promise<void> {
  const { status, json } = await env.cf(person, method, path, body);
  expect([status, json.errors?.[0]?.detail]).toEqual([
    expect.toSatisfy((code: number) => code === 403 || code === 422),
    expect.stringMatching(detail),
  ]);
}

// A short differential run on a real kube-apiserver; `npm run rbac-diff` is the long one. And what our evaluator says in several ways agrees with itself.
import { pino } from "pino";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createClient } from "../../../kube/client/create-client.ts";
import { createRbacIndex, type RbacIndex } from "../../../kube/rbac/rbac-index.ts";
import type { RbacObject } from "../../../kube/rbac/types.ts";
import { whyNoControlPlane } from "../../cluster/binaries.ts";
import { startControlPlane } from "../../cluster/control-plane.ts";
import { startEmbedded } from "../embedded-server.ts";
import type { Server } from "../kubernetes/suite.ts";
import { makePolicies, NAMESPACES, type Policy } from "./policies.ts";
import { makeCases } from "./questions.ts";
import { createRandom } from "./random.ts";
import { type ComparedAuthorizer, runRbacDiff } from "./rbac-diff.ts";

const reason = whyNoControlPlane();

describe.skipIf(reason !== undefined)(
  `evaluator, embedded server and kube-apiserver answer alike${reason ? `: skipped, ${reason}` : ""}`,
  () => {
    let servers: Server[] = [];
    let judges: ComparedAuthorizer[] = [];
    beforeAll(async () => {
      servers = await Promise.all([startControlPlane(), startEmbedded()]);
      judges = servers.map(({ url, ca, adminToken }, at) => ({
        name: at === 0 ? "kube-apiserver" : "embedded",
        client: createClient({ server: url, ca, auth: { kind: "token", token: adminToken } }),
      }));
    }, 120_000);
    afterAll(async () => {
      for (const { client } of judges) await client.close();
      for (const server of servers) await server.stop();
    });

    test("2,000 cases, no difference", async () => {
      const { asked, allowed, differences } = await runRbacDiff({
        seed: 7,
        cases: 2000,
        casesPerSet: 200,
        authorizers: judges as [ComparedAuthorizer, ComparedAuthorizer],
        log: pino({ level: "silent" }),
      });
      expect(differences).toEqual([]);
      expect(asked).toBe(2000);
      // Both answers are common, so that a server that always said one of them would not pass.
      expect(allowed).toBeGreaterThan(300);
      expect(allowed).toBeLessThan(1700);
    }, 120_000);
  },
);

const toObject = ({ name, namespace, rules, roleRef, subjects }: Policy): RbacObject => ({
  metadata: { name, ...(namespace && { namespace }) },
  rules: rules ?? [],
  ...(roleRef && { roleRef }),
  subjects: subjects ?? [],
});

/** From one set to the next by single changes, as watches bring them. */
function move(index: RbacIndex, from: readonly Policy[], to: readonly Policy[]): void {
  const key = ({ kind, namespace, name }: Policy): string => `${kind} ${namespace} ${name}`;
  const wanted = new Set(to.map(key));
  for (const one of to) index.set(one.kind, toObject(one));
  for (const one of from) if (!wanted.has(key(one))) index.remove(one.kind, one);
}

test("after any changes the index answers as one made afresh; names and namespaces agree with the answers", () => {
  const index = createRbacIndex();
  let before: Policy[] = [];
  for (let set = 0; set < 40; set++) {
    const policies = makePolicies(createRandom(11, set));
    move(index, before, policies);
    before = policies;
    const fresh = createRbacIndex();
    for (const one of policies) fresh.set(one.kind, toObject(one));
    for (const one of makeCases(createRandom(11, set, 1), policies, 250)) {
      const { user, question } = one;
      const allowed = fresh.allows(user, question);
      expect([one, index.allows(user, question), index.explain(user, question).allowed]).toEqual([
        one,
        allowed,
        allowed,
      ]);
      if ("path" in question) continue;
      const names = index.allowedNames(user, question);
      expect([one, names === "all" || names.has(question.name ?? "")]).toEqual([one, allowed]);
      const own = index.namespacesOf(user);
      // Elsewhere a namespace is as the cluster: a list that leaves it out loses nothing that a binding there would give.
      for (const namespace of NAMESPACES.filter((each) => !own.includes(each)))
        expect(index.allowedNames(user, { ...question, namespace })).toEqual(
          index.allowedNames(user, { ...question, namespace: "" }),
        );
    }
  }
});

test("a seed makes the same policies and questions again, another one others", () => {
  const of = (seed: number): string => {
    const policies = makePolicies(createRandom(seed, 0));
    return JSON.stringify([policies, makeCases(createRandom(seed, 1), policies, 20)]);
  };
  expect(of(5)).toBe(of(5));
  expect(of(5)).not.toBe(of(6));
});

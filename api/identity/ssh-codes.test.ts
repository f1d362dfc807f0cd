// Codes of `cf ssh`: they say who asked, once, and other texts open nothing.
import { expect, test } from "vitest";
import type { SSHCode } from "../../crds/ssh-code/ssh-code.ts";
import type { Draft, KubeClient } from "../../kube/client/client.ts";
import { KubeError } from "../../kube/client/errors.ts";
import { createSSHCodes, type SSHCodes } from "./ssh-codes.ts";

const ann = { name: "ann", groups: ["system:authenticated"] };

/** An API server with SSHCodes and one key. */
function installation(fill = 1, objects = new Map<string, SSHCode>()) {
  const key = { data: { key: Buffer.from(new Uint8Array(32).fill(fill)).toString("base64") } };
  let uids = 0;
  const client = {
    find: ({ kind }: { kind: string }, { name }: { name: string }) =>
      Promise.resolve(kind === "Secret" ? key : objects.get(name)),
    create(_ref: unknown, draft: Draft) {
      const name = draft.metadata.name ?? "";
      objects.set(name, { ...draft, metadata: { ...draft.metadata, uid: String((uids += 1)) } } as unknown as SSHCode);
      return Promise.resolve(draft);
    },
    delete(_ref: unknown, { name }: { name: string }, { preconditions }: { preconditions: { uid: string } }) {
      if (objects.get(name)?.metadata.uid !== preconditions.uid)
        return Promise.reject(new KubeError({ code: 404, reason: "NotFound" }));
      objects.delete(name);
      return Promise.resolve({});
    },
    async *pages() {
      yield { items: [...objects.values()] };
    },
  } as unknown as KubeClient;
  const clock = { time: 1_000_000 };
  const codes = (): SSHCodes => createSSHCodes({ client, now: () => new Date(clock.time) });
  return { codes, objects, clock };
}

async function make(codes: SSHCodes, who: Parameters<SSHCodes["make"]>[0] = ann): Promise<string> {
  return (await codes.make(who)) ?? expect.fail("no code");
}

test("a code says who asked, and is short whatever groups a user has", async () => {
  const { codes, objects } = installation();
  const groups = Array.from({ length: 200 }, (_, at) => `team-with-a-long-name-${at}@example.org`);
  const who = { name: "ann", groups, uid: "1f3a0e1c", extra: { scopes: ["one"] } };
  const code = await make(codes(), who);
  expect(code).toMatch(/^[\w-]{43}$/);
  const stored = JSON.stringify([...objects.values()]);
  expect([stored.includes(code), stored.includes("ann"), stored.includes("team-with")]).toEqual([false, false, false]);
  expect(await codes().redeem(code)).toEqual(who);
});

test("a code opens once, whichever process is asked, also by several at once", async () => {
  const { codes, objects } = installation();
  const code = await make(codes());
  const answers = await Promise.all([codes(), codes(), codes()].map((one) => one.redeem(code)));
  expect(answers.filter((who) => who !== undefined)).toEqual([ann]);
  expect([await codes().redeem(code), objects.size]).toEqual([undefined, 0]);
});

test("a code opens for a minute; expired ones are removed, others stay", async () => {
  const { codes, objects, clock } = installation();
  const code = await make(codes());
  clock.time += 60_000;
  expect(await codes().redeem(code)).toBeUndefined();
  const fresh = await make(codes());
  await codes().removeExpired();
  expect(objects.size).toBe(1);
  expect(await codes().redeem(fresh)).toEqual(ann);
});

test("other texts, and an object that was made with another key, open nothing", async () => {
  const { codes, objects } = installation(1);
  const code = await make(codes());
  const flipped = (code.startsWith("A") ? "B" : "A") + code.slice(1);
  for (const bad of [flipped, "", "a.b.c.d.e", "x".repeat(20_000), `${code}/../x`])
    expect(await codes().redeem(bad)).toBeUndefined();
  const other = installation(2, objects);
  expect(await other.codes().redeem(code)).toBeUndefined();
  expect(await codes().redeem(code)).toEqual(ann);
});

test("an identity too large to keep gets no code", async () => {
  const { codes, objects } = installation();
  const groups = Array.from({ length: 2_000 }, (_, at) => `a-group-with-a-name-of-some-length-${at}`);
  expect([await codes().make({ name: "ann", groups }), objects.size]).toEqual([undefined, 0]);
});

// Bindings that change our own permissions.
import { pino } from "pino";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { RoleBinding } from "../api/builtin.ts";
import type { KubeClient } from "../client/client.ts";
import type { KubeObject } from "../api/object.ts";
import { watchOwnPermissions } from "./own-permission-changes.ts";
import { WritableStore } from "../cache/store.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const status = { userInfo: { username: "system:serviceaccount:base:us", groups: ["system:serviceaccounts"] } };
const client = { review: () => Promise.resolve({ status }) } as unknown as KubeClient;

test.each<[what: string, namespace: string, subject: object, expected: string[]]>([
  ["our service account by its namespace", "shop", { kind: "ServiceAccount", name: "us", namespace: "base" }, ["shop"]],
  [
    "our service account in its own namespace, which it does not name",
    "base",
    { kind: "ServiceAccount", name: "us" },
    ["base"],
  ],
  ["another namespace's service account of our name", "shop", { kind: "ServiceAccount", name: "us" }, []],
  ["our user name", "shop", { kind: "User", name: "system:serviceaccount:base:us" }, ["shop"]],
  ["one of our groups", "shop", { kind: "Group", name: "system:serviceaccounts" }, ["shop"]],
  ["another user", "shop", { kind: "User", name: "ann" }, []],
])("%s", async (_what, namespace, subject, expected) => {
  const store = new WritableStore<KubeObject>(RoleBinding, { onFault: (error) => expect.unreachable(String(error)) });
  const changes: (string | undefined)[] = [];
  const rights = watchOwnPermissions(client, pino({ level: "silent" }), (one) => void changes.push(one));
  rights.observe(store);
  store.replace([], "1");
  store.upsert({
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "RoleBinding",
    metadata: { name: "b", namespace, uid: "b", resourceVersion: "2" },
    subjects: [subject],
  });
  await vi.advanceTimersByTimeAsync(1000);
  expect(changes).toEqual(expected);
  rights.close();
});

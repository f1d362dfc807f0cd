// An answer about a security group waits for those who may read it, at this replica and at every other.
import { expect, test, vi } from "vitest";
import { SYSTEM_NAMESPACE } from "../../crds/groups.ts";
import type { SecurityGroup } from "../../crds/security-group/security-group.ts";
import { Role, RoleBinding } from "../../kube/api/builtin.ts";
import type { KubeObject } from "../../kube/api/object.ts";
import type { Session } from "../access/session.ts";
import { waitForReaders } from "./readers.ts";

const group = {
  metadata: { name: "public", namespace: SYSTEM_NAMESPACE, uid: "uid-1" },
  spec: { globallyEnabled: { running: true, staging: false } },
} as unknown as SecurityGroup;
const role = { kind: "Role", metadata: { name: "readers", namespace: SYSTEM_NAMESPACE } } as KubeObject;
const binding = {
  kind: "RoleBinding",
  metadata: { name: "readers", namespace: SYSTEM_NAMESPACE, ownerReferences: [{ uid: "uid-1" }] },
  roleRef: { name: "readers" },
  subjects: [{ kind: "Group", name: "system:authenticated" }],
} as unknown as KubeObject;

test("the other replicas are told of readers that this one knows already", async () => {
  const store = ({ kind }: { kind: string }) => ({
    list: () => (kind === "RoleBinding" ? [binding] : []),
    find: () => (kind === "Role" ? role : undefined),
    onChange: () => () => undefined,
  });
  const publishObserved = vi.fn(() => Promise.resolve());
  await waitForReaders({ canCacheLists: true, cache: { store }, publishObserved } as unknown as Session, group);
  expect(publishObserved).toHaveBeenCalledExactlyOnceWith([Role, RoleBinding]);
});

// The operator's constraints of the measurements: 200 of RequiredLabels, of which 20 match one space and the others match none.
import pLimit from "p-limit";
import { constraintKindOf, type Constraint } from "../../../crds/policy-template/constraint.ts";
import type { ResourceRef } from "../../../kube/api/resource-ref.ts";
import type { KubeClient } from "../../../kube/client/client.ts";

export const CONSTRAINTS = 200;
export const MATCHING = 20;
/** Labels of an app that no constraint refuses. */
export const OWNED = { owner: "ada" };

export const RequiredLabels = constraintKindOf({
  spec: { kind: "RequiredLabels", title: "Required labels" },
}) as unknown as ResourceRef<Constraint>;

/** `count` constraints from number `first` on; the first 20 of all match the space. */
export async function makeConstraints(
  admin: KubeClient,
  { first = 0, count, space }: { first?: number; count: number; space: string },
): Promise<void> {
  const limit = pLimit(16);
  await Promise.all(
    Array.from({ length: count }, (_, at) => first + at).map((at) =>
      limit(() =>
        admin.create(RequiredLabels, {
          metadata: { name: nameOf(at) },
          spec: {
            match: { spaces: [at < MATCHING ? space : `org-${at}/*`] },
            parameters: { labels: [{ key: "owner", pattern: "^[a-z]+$" }] },
          },
        } as never),
      ),
    ),
  );
}

export const nameOf = (at: number): string => `required-${at}`;

/** How many constraints say that they are in force as they stand. */
export async function countEnforced(admin: KubeClient): Promise<number> {
  const { items } = await admin.list(RequiredLabels);
  return items.filter(
    ({ metadata, status }) => status?.enforced === true && status.observedGeneration === metadata.generation,
  ).length;
}

export async function deleteConstraints(admin: KubeClient): Promise<void> {
  const { items } = await admin.list(RequiredLabels);
  const limit = pLimit(16);
  await Promise.all(items.map(({ metadata: { name } }) => limit(() => admin.delete(RequiredLabels, { name }))));
}

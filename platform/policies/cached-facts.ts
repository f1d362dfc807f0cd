// Facts for judging by operator policy, from this process's caches. A kind is watched while rules read it.
import type { JudgingConstraint } from "../../crds/policy-template/evaluate.ts";
import type { StartFacts } from "../../crds/policy-template/start.ts";
import { findSubject } from "../../crds/policy-template/subjects.ts";
import { Namespace } from "../../kube/api/builtin.ts";
import { ifReadable } from "../../kube/cache/errors.ts";
import type { Informers } from "../../kube/cache/informers.ts";
import type { LivePolicies } from "./live-policies.ts";

export interface CachedFacts {
  /** For judging an object of this namespace. */
  of(namespace: string | undefined): StartFacts;
  close(): Promise<void>;
}

export interface CachedFactsOptions {
  policies: Pick<LivePolicies, "policies" | "onChange">;
  informers: Informers;
  /** Names the watches in logs. */
  name: string;
  /** Whether this constraint is judged here. */
  isJudged: (one: JudgingConstraint) => boolean;
  /** Called when facts or policies may have changed. */
  onChange: () => void;
}

/** Starts the watches. `close` ends them. */
export function watchFacts({ policies, informers, name, isJudged, onChange }: CachedFactsOptions): CachedFacts {
  const namespaces = informers.ensure(Namespace);
  const watches = informers.dynamicWatches({ name, deliver: onChange });
  const follow = (): void => {
    const judged = [...policies.policies().byConstraint].filter(([, one]) => isJudged(one));
    watches.replace(
      judged.flatMap(([id, { template }]) =>
        (template.reads ?? []).flatMap(({ kind }) => findSubject(kind) ?? []).map((ref) => [{ ref }, id] as const),
      ),
    );
    onChange();
  };
  const unsubscribe = policies.onChange(follow);
  follow();
  const { read } = informers;
  const labelsOf = (name = ""): Readonly<Record<string, string>> | undefined => {
    const namespace = ifReadable(() => read.find(Namespace, { name }));
    return namespace && (namespace.metadata.labels ?? {});
  };
  return {
    of: (namespace) => ({
      namespaceLabels: labelsOf(namespace),
      list: (ref, filter) => ifReadable(() => read.list(ref, filter)),
    }),
    async close() {
      unsubscribe();
      await watches.close();
      namespaces.release();
    },
  };
}

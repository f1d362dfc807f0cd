// The start gate of this process: judges by the policies in force here, and watches the kinds that their rules read.
import { ALLOWED_START, judgeStart, type StartVerdict } from "../../crds/policy-template/start.ts";
import { actionAtStart } from "../../crds/policy-template/constraint.ts";
import { findSubject } from "../../crds/policy-template/subjects.ts";
import type { StartGate } from "../../controllers/shared/start-gate.ts";
import { Namespace } from "../../kube/api/builtin.ts";
import type { KubeObject } from "../../kube/api/object.ts";
import type { DynamicWatches } from "../../kube/cache/dynamic-watches.ts";
import { ifReadable } from "../../kube/cache/errors.ts";
import type { Informers } from "../../kube/cache/informers.ts";
import type { LivePolicies } from "./live-policies.ts";

/** Changes within this time are one. */
const DEBOUNCE_MS = 200;

export interface RunningStartGate extends StartGate {
  close(): Promise<void>;
}

/** Starts the watches. `close` ends them. */
export function startStartGate(policies: LivePolicies, informers: Informers): RunningStartGate {
  return new PolicyStartGate(policies, informers);
}

class PolicyStartGate implements RunningStartGate {
  readonly #policies: LivePolicies;
  readonly #read: Informers["read"];
  readonly #watches: DynamicWatches;
  readonly #listeners = new Set<() => void>();
  readonly #end: (() => void)[];
  #timer: NodeJS.Timeout | undefined;

  constructor(policies: LivePolicies, informers: Informers) {
    this.#policies = policies;
    this.#read = informers.read;
    const namespaces = informers.ensure(Namespace);
    this.#watches = informers.dynamicWatches({ name: "policy-reads", deliver: () => this.#notifySoon() });
    this.#end = [() => namespaces.release(), policies.onChange(() => this.#follow())];
    this.#follow();
  }

  judge(objects: readonly KubeObject[]): StartVerdict {
    const gap = this.#policies.gap();
    if (gap !== undefined)
      return { ...ALLOWED_START, undecided: [`operator policy is not known to the platform: ${gap}`] };
    return judgeStart(this.#policies.policies(), objects, () => ({
      namespaceLabels: this.#labelsOf(objects[0]?.metadata.namespace),
      list: (ref, filter) => ifReadable(() => this.#read.list(ref, filter)),
    }));
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  async close(): Promise<void> {
    clearTimeout(this.#timer);
    for (const end of this.#end) end();
    await this.#watches.close();
  }

  #labelsOf(name = ""): Readonly<Record<string, string>> | undefined {
    const namespace = ifReadable(() => this.#read.find(Namespace, { name }));
    return namespace && (namespace.metadata.labels ?? {});
  }

  /** Watches the kinds that rules read at a start. */
  #follow(): void {
    const dependencies = [...this.#policies.policies().byConstraint].flatMap(([id, { template, constraint }]) =>
      actionAtStart(template, constraint) === "deny"
        ? (template.reads ?? []).flatMap(({ kind }) => findSubject(kind) ?? []).map((ref) => [{ ref }, id] as const)
        : [],
    );
    this.#watches.replace(dependencies);
    this.#notifySoon();
  }

  #notifySoon(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      for (const listener of this.#listeners) listener();
    }, DEBOUNCE_MS).unref();
  }
}

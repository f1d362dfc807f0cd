// The start gate of this process: judges by the policies in force here.
import { ALLOWED_START, judgeStart, type StartVerdict } from "../../crds/policy-template/start.ts";
import { actionAtStart } from "../../crds/policy-template/constraint.ts";
import type { StartGate } from "../../controllers/shared/start-gate.ts";
import type { KubeObject } from "../../kube/api/object.ts";
import type { Informers } from "../../kube/cache/informers.ts";
import type { Membership } from "../../kube/lease/membership.ts";
import { watchFacts, type CachedFacts } from "./cached-facts.ts";
import type { LivePolicies } from "./live-policies.ts";

/** Changes within this time are one. */
const DEBOUNCE_MS = 200;

export interface RunningStartGate extends StartGate {
  close(): Promise<void>;
}

export interface StartGateOptions {
  policies: LivePolicies;
  informers: Informers;
  /** The members whose reports say that a rule is in force, of which this process must be one. */
  membership: Pick<Membership, "isMember" | "onChange">;
}

/** Starts the watches of the kinds that rules read at a start. `close` ends them. */
export function startStartGate(options: StartGateOptions): RunningStartGate {
  return new PolicyStartGate(options);
}

class PolicyStartGate implements RunningStartGate {
  readonly #policies: LivePolicies;
  readonly #membership: StartGateOptions["membership"];
  readonly #facts: CachedFacts;
  readonly #unsubscribe: () => void;
  readonly #listeners = new Set<() => void>();
  #timer: NodeJS.Timeout | undefined;

  constructor({ policies, informers, membership }: StartGateOptions) {
    this.#policies = policies;
    this.#membership = membership;
    this.#unsubscribe = membership.onChange(() => this.#notifySoon());
    this.#facts = watchFacts({
      policies,
      informers,
      name: "policy-reads",
      isJudged: ({ template, constraint }) => actionAtStart(template, constraint) === "deny",
      onChange: () => this.#notifySoon(),
    });
  }

  judge(objects: readonly KubeObject[]): StartVerdict {
    const gap = this.#gap();
    if (gap !== undefined)
      return { ...ALLOWED_START, undecided: [`operator policy is not known to the platform: ${gap}`] };
    return judgeStart(this.#policies.policies(), objects, () => this.#facts.of(objects[0]?.metadata.namespace));
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  async close(): Promise<void> {
    clearTimeout(this.#timer);
    this.#unsubscribe();
    await this.#facts.close();
  }

  /** A process that others do not count may lack rules that are said to be in force. It catches up when it joins again. */
  #gap(): string | undefined {
    if (this.#membership.isMember()) return this.#policies.gap();
    return "this process stood still or could not reach the API server, and catches up";
  }

  #notifySoon(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      for (const listener of this.#listeners) listener();
    }, DEBOUNCE_MS).unref();
  }
}

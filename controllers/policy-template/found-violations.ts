// The violations that the audit has found: of each constraint by object, and of each App and Space that shows them. Objects that violate nothing take no memory.
import { toVerdict, type Violation } from "../../crds/policy-template/verdict.ts";

/** The violations of one object by one constraint, and the ids of the objects that show them. */
interface Found {
  violations: readonly Violation[];
  shownOn: readonly string[];
}

/** Id of the constraint, and the object as `Kind namespace/name`. */
export interface FoundAt {
  constraint: string;
  at: string;
}

export class FoundViolations {
  /** By constraint, then by object. */
  readonly #byConstraint = new Map<string, Map<string, Found>>();
  /** By id of the object that shows them, then by constraint and object. */
  readonly #byHolder = new Map<string, Map<string, readonly Violation[]>>();

  /** Replaces what was found. Returns whether it differs, and the ids of the objects that show it or showed it. */
  set({ constraint, at }: FoundAt, { violations, shownOn }: Found): { isChanged: boolean; holders: readonly string[] } {
    const ofConstraint = this.#byConstraint.get(constraint);
    const before = ofConstraint?.get(at) ?? NOTHING;
    for (const holder of before.shownOn) this.#unshow(holder, `${constraint} ${at}`);
    if (violations.length === 0) ofConstraint?.delete(at);
    else {
      getOrAdd(this.#byConstraint, constraint).set(at, { violations, shownOn });
      for (const holder of shownOn) getOrAdd(this.#byHolder, holder).set(`${constraint} ${at}`, violations);
    }
    const isChanged = !isSame(before.violations, violations);
    const hasMoved = before.shownOn.join() !== shownOn.join() && before.violations.length + violations.length > 0;
    return { isChanged, holders: isChanged || hasMoved ? [...new Set([...before.shownOn, ...shownOn])] : [] };
  }

  /** Forgets a constraint. Returns the ids of the objects that show fewer violations now. */
  delete(constraint: string): string[] {
    const found = this.#byConstraint.get(constraint);
    this.#byConstraint.delete(constraint);
    const holders = new Set<string>();
    for (const [at, { shownOn }] of found ?? [])
      for (const holder of shownOn) {
        this.#unshow(holder, `${constraint} ${at}`);
        holders.add(holder);
      }
    return [...holders];
  }

  /** Sorted by object. */
  ofConstraint(constraint: string): readonly Violation[] {
    const found = [...(this.#byConstraint.get(constraint)?.values() ?? [])];
    return toVerdict(
      found.flatMap(({ violations }) => violations),
      [],
    ).violations;
  }

  /** Sorted by constraint, rule, object. */
  shownOnObject(id: string): readonly Violation[] {
    return toVerdict([...(this.#byHolder.get(id)?.values() ?? [])].flat(), []).violations;
  }

  #unshow(holder: string, key: string): void {
    const shown = this.#byHolder.get(holder);
    shown?.delete(key);
    if (shown?.size === 0) this.#byHolder.delete(holder);
  }
}

const NOTHING: Found = { violations: [], shownOn: [] };

function getOrAdd<V>(maps: Map<string, Map<string, V>>, key: string): Map<string, V> {
  const found = maps.get(key) ?? new Map<string, V>();
  maps.set(key, found);
  return found;
}

function isSame(a: readonly Violation[], b: readonly Violation[]): boolean {
  return (
    a.length === b.length &&
    a.every(({ rule, message }, index) => rule === b[index]?.rule && message === b[index].message)
  );
}

// The violations that the audit has found: of each constraint by object, and of each app by all that belongs to it. Objects that violate nothing take no memory.
import { toVerdict, type Violation } from "../../crds/policy-template/verdict.ts";

/** The violations of one object by one constraint, and the apps that the object belongs to. */
interface Found {
  violations: readonly Violation[];
  apps: readonly string[];
}

/** Id of the constraint, and the object as `Kind namespace/name`. */
export interface FoundAt {
  constraint: string;
  at: string;
}

export class FoundViolations {
  /** By constraint, then by object. */
  readonly #byConstraint = new Map<string, Map<string, Found>>();
  /** By key of the app, then by constraint and object. */
  readonly #byApp = new Map<string, Map<string, readonly Violation[]>>();

  /** Replaces what was found. Returns whether it differs, and the apps that it concerns or concerned. */
  set({ constraint, at }: FoundAt, { violations, apps }: Found): { isChanged: boolean; apps: readonly string[] } {
    const ofConstraint = this.#byConstraint.get(constraint);
    const before = ofConstraint?.get(at) ?? NOTHING;
    for (const app of before.apps) this.#deleteOfApp(app, `${constraint} ${at}`);
    if (violations.length === 0) ofConstraint?.delete(at);
    else {
      getOrAdd(this.#byConstraint, constraint).set(at, { violations, apps });
      for (const app of apps) getOrAdd(this.#byApp, app).set(`${constraint} ${at}`, violations);
    }
    const isChanged = !isSame(before.violations, violations);
    const hasMoved = before.apps.join() !== apps.join() && before.violations.length + violations.length > 0;
    return { isChanged, apps: isChanged || hasMoved ? [...new Set([...before.apps, ...apps])] : [] };
  }

  /** Forgets a constraint. Returns the apps whose violations are fewer now. */
  delete(constraint: string): string[] {
    const found = this.#byConstraint.get(constraint);
    this.#byConstraint.delete(constraint);
    const apps = new Set<string>();
    for (const [at, one] of found ?? [])
      for (const app of one.apps) {
        this.#deleteOfApp(app, `${constraint} ${at}`);
        apps.add(app);
      }
    return [...apps];
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
  ofApp(app: string): readonly Violation[] {
    return toVerdict([...(this.#byApp.get(app)?.values() ?? [])].flat(), []).violations;
  }

  #deleteOfApp(app: string, key: string): void {
    const ofApp = this.#byApp.get(app);
    ofApp?.delete(key);
    if (ofApp?.size === 0) this.#byApp.delete(app);
  }
}

const NOTHING: Found = { violations: [], apps: [] };

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

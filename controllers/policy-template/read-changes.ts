// Where stored objects must be judged again because objects that rules read have changed.
import type { TemplateRead } from "../../crds/policy-template/policy-template.ts";
import { STABLE_LABELS } from "../../crds/labels.ts";
import { Namespace } from "../../kube/api/builtin.ts";
import type { ObjectKey } from "../../kube/api/object.ts";
import type { Reader } from "../../kube/cache/reader.ts";

/** Namespaces whose objects are judged again. */
export type Area = "everywhere" | ReadonlySet<string>;

/** Collects areas by constraint, and gives each to `judge` a moment after the first. */
export class ReadChanges {
  readonly #delayMs: number;
  readonly #judge: (constraint: string, area: Area) => void;
  readonly #areas = new Map<string, Area>();
  #timer: NodeJS.Timeout | undefined;

  constructor(delayMs: number, judge: (constraint: string, area: Area) => void) {
    this.#delayMs = delayMs;
    this.#judge = judge;
  }

  add(constraint: string, area: Area): void {
    const known = this.#areas.get(constraint);
    this.#areas.set(
      constraint,
      known === "everywhere" || area === "everywhere" ? "everywhere" : new Set([...(known ?? []), ...area]),
    );
    this.#timer ??= setTimeout(() => this.#flush(), this.#delayMs).unref();
  }

  close(): void {
    clearTimeout(this.#timer);
  }

  #flush(): void {
    this.#timer = undefined;
    const areas = [...this.#areas];
    this.#areas.clear();
    for (const [constraint, area] of areas) this.#judge(constraint, area);
  }
}

/** The objects that may read a changed one are in these namespaces. */
export function areaOf({ scope }: TemplateRead, { namespace }: ObjectKey, read: Pick<Reader, "find" | "list">): Area {
  if (scope === "platform" || namespace === undefined) return "everywhere";
  if (scope === "space") return new Set([namespace]);
  const org = read.find(Namespace, { name: namespace })?.metadata.labels?.[STABLE_LABELS.orgName];
  if (org === undefined) return "everywhere";
  const namespaces = read.list(Namespace, { labels: { [STABLE_LABELS.orgName]: org } });
  return new Set(namespaces.map(({ metadata }) => metadata.name));
}

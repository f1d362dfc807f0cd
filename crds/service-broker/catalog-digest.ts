// A digest of a broker's offerings and plans. With it a reader of several watches knows that it has seen all that the controller wrote. Pure.
import { hash } from "node:crypto";

interface CatalogEntry {
  metadata: { name?: string | undefined };
  spec: object;
}

/** Digest of offerings and plans in any order, without the fields that operators set. */
export function catalogDigest(entries: readonly CatalogEntry[]): string {
  const lines = entries.map(({ metadata, spec }) => {
    const { visibility: _, ...rest } = spec as { visibility?: unknown };
    return `${metadata.name} ${canonical(rest)}`;
  });
  return hash("sha256", lines.sort().join("\n")).slice(0, 32);
}

/** JSON whose members are in the order of their names, since the API server has an order of its own. */
function canonical(value: unknown): string {
  return JSON.stringify(value, (_key, member: unknown) =>
    typeof member === "object" && member !== null && !Array.isArray(member)
      ? Object.fromEntries(Object.entries(member).sort(([one], [other]) => (one < other ? -1 : 1)))
      : member,
  );
}

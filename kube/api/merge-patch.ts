// JSON merge patch (RFC 7386), as kube-apiserver's library carries it out.
type JsonMap = Record<string, unknown>;

const isMap = (value: unknown): value is JsonMap =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** The patched value. `target` is not changed; untouched parts are shared with it. */
export function mergePatch(target: unknown, patch: unknown): unknown {
  if (!isMap(patch)) return withoutNulls(patch);
  const out: JsonMap = isMap(target) ? { ...target } : {};
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete out[key];
    else out[key] = mergePatch(out[key], value);
  }
  return out;
}

/** Nulls go from objects inside new lists as well; null items stay. */
function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNulls);
  return isMap(value)
    ? Object.fromEntries(
        Object.entries(value)
          .filter(([, inner]) => inner !== null)
          .map(([key, inner]) => [key, withoutNulls(inner)]),
      )
    : value;
}

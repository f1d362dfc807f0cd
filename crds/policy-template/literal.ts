// JSON as a CEL literal. Values of lists and maps are wrapped in dyn(): kube-apiserver wants literals whose values have one type.

/** The literal of a JSON value. */
export function celLiteral(json: unknown): string {
  if (json === null || json === undefined) return "null";
  if (typeof json === "string") return celText(json);
  if (typeof json === "number") return celNumber(json);
  if (Array.isArray(json)) return `[${json.map(celDynamic).join(", ")}]`;
  if (typeof json !== "object") return String(json);
  const entries = Object.entries(json).filter(([, value]) => value !== undefined);
  return `{${entries.map(([key, value]) => `${celText(key)}: ${celDynamic(value)}`).join(", ")}}`;
}

function celDynamic(json: unknown): string {
  return `dyn(${celLiteral(json)})`;
}

/** A whole number is an int, as it is where the API server reads an object without a schema. */
function celNumber(json: number): string {
  if (Number.isSafeInteger(json)) return String(json);
  const text = String(json);
  return /[.e]/.test(text) ? text : `${text}.0`;
}

const ESCAPES: Record<string, string> = { "\\": "\\\\", "'": "\\'", "\n": "\\n", "\r": "\\r", "\t": "\\t" };

/** A string literal. */
export function celText(text: string): string {
  const escaped = text.replace(/[\\'\u0000-\u001f\u007f]/g, (one) => ESCAPES[one] ?? `\\u${hex(one)}`);
  return `'${escaped}'`;
}

function hex(character: string): string {
  return character.charCodeAt(0).toString(16).padStart(4, "0");
}

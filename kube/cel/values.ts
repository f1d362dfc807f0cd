// CEL's values as this evaluator holds them, and how JSON becomes one. Lists are arrays; maps are CelMap; int is bigint, double is number.

/** An error of an evaluation. `&&`, `||`, `all` and `exists` may absorb it, as CEL defines. */
export class CelError extends Error {
  override readonly name: string = "CelError";
}

/** The evaluation cost too much. Nothing absorbs it. */
export class BudgetError extends CelError {
  override readonly name = "BudgetError";
}

/** A key-value value: a JSON object, or a map that an expression made. */
export interface CelMap {
  readonly celKind: "map";
  get(key: CelValue): CelValue | undefined;
  keys(): CelValue[];
}

/** A value of a type that CEL itself does not know: a quantity, a URL, an authorizer. */
export interface CelOpaque {
  readonly celKind: "opaque";
  readonly type: string;
  call(method: string, args: CelValue[]): CelValue;
  /** Fields that can be selected by name, where the type has any. */
  field?(name: string): CelValue | undefined;
  equals?(other: CelOpaque): boolean;
  toText?(): string;
}

export interface CelTypeValue {
  readonly celKind: "type";
  readonly type: string;
}

export interface CelOptional {
  readonly celKind: "optional";
  readonly value: CelValue | undefined;
}

/** Nanoseconds: since 1970 for a timestamp, in all for a duration. */
export interface CelTime {
  readonly celKind: "timestamp" | "duration";
  readonly nanos: bigint;
}

export type CelValue =
  | null
  | boolean
  | bigint
  | number
  | string
  | Uint8Array
  | UnsignedInt
  | readonly CelValue[]
  | CelMap
  | CelOpaque
  | CelTypeValue
  | CelOptional
  | CelTime;

/** CEL's uint: 64 bits without a sign. */
export class UnsignedInt {
  readonly value: bigint;
  constructor(value: bigint) {
    if (value < 0n || value >= 2n ** 64n) throw new CelError("unsigned integer overflow");
    this.value = value;
  }
  valueOf(): bigint {
    return this.value;
  }
}

export const none: CelOptional = { celKind: "optional", value: undefined };

export function some(value: CelValue | undefined): CelOptional {
  return value === undefined ? none : { celKind: "optional", value };
}

export function isList(value: CelValue): value is readonly CelValue[] {
  return Array.isArray(value);
}

/** The discriminator of the values that are objects of ours; undefined for all others. */
export function kindOf(value: CelValue): "map" | "opaque" | "type" | "optional" | "timestamp" | "duration" | undefined {
  return typeof value === "object" && value !== null && "celKind" in value ? value.celKind : undefined;
}

export function isMap(value: CelValue): value is CelMap {
  return kindOf(value) === "map";
}

/** The name of a value's type, as `type()` gives it and error messages name it. */
export function typeName(value: CelValue): string {
  if (value === null) return "null_type";
  if (typeof value !== "object") return primitiveNames[typeof value] ?? typeof value;
  if (isList(value)) return "list";
  if (value instanceof Uint8Array) return "bytes";
  if (value instanceof UnsignedInt) return "uint";
  return value.celKind === "opaque" ? value.type : objectNames[value.celKind];
}

const objectNames = {
  map: "map",
  type: "type",
  optional: "optional_type",
  timestamp: "google.protobuf.Timestamp",
  duration: "google.protobuf.Duration",
};

const primitiveNames: Record<string, string> = { bigint: "int", number: "double", string: "string", boolean: "bool" };

/** How JSON under a schema becomes a value: what CEL must know of an OpenAPI schema. Without one, JSON's own types hold. */
export interface ValueShape {
  type?: string;
  format?: string;
  /** Shape of a property; `undefined` when there is none of that name. */
  property?(name: string): ValueShape | undefined;
  /** Shape of list items or of a map's values. */
  items?: ValueShape;
  /** An object with named properties: names are reached in their escaped form. */
  escaped?: boolean;
  /** Equality and `+` of lists: `set`, or the key fields of a map list. */
  listType?: "set" | { keys: string[] };
}

const listShapes = new WeakMap<readonly CelValue[], ValueShape>();

/** `set`, a map list's keys, or undefined for a plain list. */
export function listTypeOf(list: readonly CelValue[]): ValueShape["listType"] {
  return listShapes.get(list)?.listType;
}

/** JSON as a CEL value. Objects are wrapped, not copied; a field is converted when it is read. */
export function fromJson(json: unknown, shape?: ValueShape): CelValue {
  if (json === null || json === undefined) return null;
  switch (typeof json) {
    case "number":
      return fromNumber(json, shape);
    case "string":
      return fromText(json, shape);
    case "boolean":
      return json;
    case "object":
      return Array.isArray(json) ? fromArray(json, shape) : jsonMap(json as Record<string, unknown>, shape);
    default:
      throw new CelError(`no CEL value for ${typeof json}`);
  }
}

function fromNumber(json: number, shape: ValueShape | undefined): CelValue {
  return shape?.type !== "number" && Number.isInteger(json) ? BigInt(json) : json;
}

function fromText(json: string, shape: ValueShape | undefined): CelValue {
  const format = shape?.format;
  const convert = format !== undefined && Object.hasOwn(textFormats, format) ? textFormats[format] : undefined;
  return convert ? convert(json) : json;
}

function fromArray(json: unknown[], shape: ValueShape | undefined): CelValue {
  const list = json.map((item) => fromJson(item, shape?.items));
  if (shape?.listType) listShapes.set(list, shape);
  return list;
}

/** Formats whose strings CEL sees as another type. Filled by the time functions, which know how to read them. */
export const textFormats: Record<string, (text: string) => CelValue> = {
  byte: (text) => Uint8Array.from(Buffer.from(text, "base64")),
};

const reserved = new Set([
  "true",
  "false",
  "null",
  "in",
  "as",
  "break",
  "const",
  "continue",
  "else",
  "for",
  "function",
  "if",
  "import",
  "let",
  "loop",
  "package",
  "namespace",
  "return",
  "var",
  "void",
  "while",
]);
const escapes: Record<string, string> = { underscores: "__", dot: ".", dash: "-", slash: "/" };

/** The property that an escaped field name stands for: `a__dash__b` is `a-b`, `__namespace__` is `namespace`. */
export function unescapeField(name: string): string {
  if (!name.includes("__")) return name;
  const word = /^__([a-z]+)__$/.exec(name)?.[1];
  if (word !== undefined && reserved.has(word)) return word;
  return name.replace(/__([a-z]+)__/g, (whole, escape: string) => escapes[escape] ?? whole);
}

/** How a property is written in an expression; undefined when it cannot be reached. */
export function escapeField(name: string): string | undefined {
  if (reserved.has(name)) return `__${name}__`;
  const escaped = name.replace(
    /__|[.\-/]/g,
    (part) => `__${Object.keys(escapes).find((key) => escapes[key] === part)}__`,
  );
  return /^[A-Za-z_][A-Za-z0-9_]*$/.test(escaped) ? escaped : undefined;
}

class JsonMap implements CelMap {
  readonly celKind = "map";
  readonly json: Record<string, unknown>;
  readonly shape: ValueShape | undefined;
  #read = new Map<string, CelValue>();

  constructor(json: Record<string, unknown>, shape: ValueShape | undefined) {
    this.json = json;
    this.shape = shape;
  }

  get(key: CelValue): CelValue | undefined {
    if (typeof key !== "string") return undefined;
    const known = this.#read.get(key);
    if (known !== undefined) return known;
    const name = this.shape?.escaped ? unescapeField(key) : key;
    if (!Object.hasOwn(this.json, name) || this.json[name] === undefined) return undefined;
    const value = fromJson(this.json[name], this.shape?.property ? this.shape.property(name) : this.shape?.items);
    this.#read.set(key, value);
    return value;
  }

  keys(): CelValue[] {
    const names = Object.keys(this.json).filter((name) => this.json[name] !== undefined);
    return this.shape?.escaped ? names.flatMap((name) => escapeField(name) ?? []) : names;
  }
}

export function jsonMap(json: Record<string, unknown>, shape?: ValueShape): CelMap {
  return new JsonMap(json, shape);
}

/** Values that may be keys, as JavaScript map keys: numbers of one value are one key. */
function keyText(key: CelValue): string {
  const text = textOfKey(key);
  if (text === undefined) throw new CelError(`unsupported key type: ${typeName(key)}`);
  return text;
}

function textOfKey(key: CelValue): string | undefined {
  if (typeof key === "string") return `s${key}`;
  if (typeof key === "boolean") return `b${key}`;
  if (typeof key === "bigint" || key instanceof UnsignedInt) return `n${key.valueOf()}`;
  return typeof key === "number" && Number.isInteger(key) ? `n${BigInt(key)}` : undefined;
}

/** A map from entries; a key twice is an error, as in a literal. */
export function mapOf(entries: Iterable<readonly [CelValue, CelValue]>): CelMap {
  const values = new Map<string, readonly [CelValue, CelValue]>();
  for (const entry of entries) {
    const key = keyText(entry[0]);
    if (values.has(key)) throw new CelError("insert failed: key already exists");
    values.set(key, entry);
  }
  return {
    celKind: "map",
    get: (key) => values.get(textOfKey(key) ?? "")?.[1],
    keys: () => [...values.values()].map((entry) => entry[0]),
  };
}

// CEL's own conformance cases, as this evaluator answers them. Each case that fails needs a row of `gaps` with the reason; a row that excuses nothing fails as well.
import { readFileSync } from "node:fs";
import { getTestRegistry } from "@bufbuild/cel-spec/testdata/registry.js";
import {
  getConformanceSuite,
  type IncrementalTest,
  type IncrementalTestSuite,
} from "@bufbuild/cel-spec/testdata/tests.js";
import { anyUnpack, type Any, type Duration, type Timestamp } from "@bufbuild/protobuf/wkt";
import { describe, expect, it } from "vitest";
import { checkExpression } from "./check.ts";
import { compileExpression, evaluate } from "./program.ts";
import {
  CelError,
  UnsignedInt,
  isList,
  isMap,
  kindOf,
  mapOf,
  typeName,
  type CelOptional,
  type CelTime,
  type CelTypeValue,
  type CelValue,
} from "./values.ts";
import { CelSyntaxError } from "./compiled.ts";

type SimpleTest = IncrementalTest["original"];
type ProtoValue = Extract<SimpleTest["resultMatcher"], { case: "value" }>["value"];

interface Case {
  file: string;
  /** `file/section/name` */
  path: string;
  test: SimpleTest;
}

/** Why a case fails here, and rightly or not. */
interface Gap {
  reason: string;
  matches: (one: Case, fault: string) => boolean;
}

const inFiles =
  (...files: string[]) =>
  ({ file }: Case) =>
    files.includes(file);
const within = (path: RegExp) => (one: Case) => path.test(one.path);
const writes = (expression: RegExp) => (one: Case) => expression.test(one.test.expr);

const MESSAGE = "a protobuf message is bound or expected";
const CHECK_ONLY = "only the type is asked for";

/** The first row that matches a failing case excuses it. docs/expressions.md has the same reasons. */
const gaps: Gap[] = [
  {
    reason: "math, base64, cel.bind, cel.block and proto are extensions that kube-apiserver does not have",
    matches: inFiles("math_ext", "encoders_ext", "bindings_ext", "block_ext", "proto2_ext"),
  },
  {
    reason: "protobuf messages and enums: expressions of kube-apiserver see JSON",
    matches: (one, fault) =>
      fault === MESSAGE || /\b[A-Z]\w*\s*\{|\bGlobalEnum\b|\bNestedEnum\b|\.(?:\s|\/\/ @)*cel\b/.test(one.test.expr),
  },
  {
    reason: "types of expressions are known only as far as schemas give them",
    matches: (one, fault) => fault === CHECK_ONLY || writes(/\b(?:fn|tuple)\(/)(one),
  },
  {
    reason: "containers, and variables with a dot in the name: kube-apiserver sets neither",
    matches: ({ test }) => test.container === "x" || Object.keys(test.bindings).some((name) => name.includes(".")),
  },
  {
    reason: "kube-apiserver refuses literals and conditions that mix types when it compiles them",
    matches: (_one, fault) => /expected type '|'_\?_:_'/.test(fault),
  },
  { reason: "names in backquotes: kube-apiserver 1.34 refuses them as well", matches: writes(/\.`/) },
  {
    reason: "format is that of version 2 of the strings extension, which kube-apiserver has",
    matches: within(/^string_ext\/format\//),
  },
  {
    reason: "cel-go 0.26 of kube-apiserver 1.34 answers -1 where a search begins behind the end",
    matches: within(/^string_ext\/value_errors\/(?:last)?indexof_out_of_range$/),
  },
  {
    reason: "cel-go finds no field in null or a number, which is no error behind an optional or in has()",
    matches: within(/^optionals\/optionals\/(?:map_null_entry_no_such_key|map_present_key_invalid_field)$/),
  },
  {
    reason: "cel-go counts all milliseconds of a duration, not those beside the seconds",
    matches: within(/^timestamps\/duration_converters\/get_milliseconds$/),
  },
  { reason: "not parsed by the library: optional elements of literals", matches: writes(/[[{,]\s*\?/) },
  {
    reason: "not parsed by the library: numbers that begin with a dot, raw bytes, form feeds",
    matches: writes(/(?:^|[^\w])\.\d|\b[bB][rR]['"]|\f/),
  },
];

/** Share that holds of each file of the suite. */
const expectedShares = {
  basic: "43 of 43",
  bindings_ext: "0 of 5",
  block_ext: "0 of 37",
  comparisons: "325 of 406",
  conversions: "108 of 109",
  dynamic: "0 of 226",
  encoders_ext: "0 of 4",
  enums: "0 of 85",
  fields: "47 of 60",
  fp_math: "30 of 30",
  integer_math: "64 of 64",
  lists: "39 of 39",
  logic: "30 of 30",
  macros: "39 of 44",
  macros2: "40 of 46",
  math_ext: "0 of 199",
  namespace: "0 of 3",
  optionals: "50 of 70",
  parse: "185 of 219",
  plumbing: "5 of 5",
  proto2: "0 of 108",
  proto2_ext: "0 of 18",
  proto3: "0 of 75",
  string: "51 of 51",
  string_ext: "184 of 209",
  timestamps: "75 of 76",
  type_deductions: "12 of 47",
  wrappers: "0 of 36",
};

const suite: Case[] = getConformanceSuite().suites.flatMap((file) => casesOf(file, file.name, file.name));

function casesOf(part: IncrementalTestSuite, file: string, path: string): Case[] {
  return [
    ...part.tests.map(({ name, original }) => ({ file, path: `${path}/${name}`, test: original })),
    ...part.suites.flatMap((section) => casesOf(section, file, `${path}/${section.name}`)),
  ];
}

/** The value that a message of the suite describes; undefined for a protobuf message, which has none here. */
function valueOf({ kind }: ProtoValue): CelValue | undefined {
  switch (kind.case) {
    case "nullValue":
      return null;
    case "uint64Value":
      return new UnsignedInt(kind.value);
    case "typeValue":
      return { celKind: "type", type: kind.value };
    case "listValue":
      return allOrNone(kind.value.values.map(valueOf));
    case "mapValue":
      return entriesOf(kind.value.entries);
    case "objectValue":
      return timeOf(kind.value);
    case "enumValue":
    case undefined:
      return undefined;
    default:
      return kind.value;
  }
}

function entriesOf(entries: { key?: ProtoValue; value?: ProtoValue }[]): CelValue | undefined {
  const pairs = allOrNone(entries.map(({ key, value }) => allOrNone([key && valueOf(key), value && valueOf(value)])));
  return pairs && mapOf(pairs as [CelValue, CelValue][]);
}

function allOrNone<T>(values: (T | undefined)[]): T[] | undefined {
  return values.includes(undefined) ? undefined : (values as T[]);
}

function timeOf(any: Any): CelTime | undefined {
  const message = anyUnpack(any, getTestRegistry());
  const kind = { "google.protobuf.Timestamp": "timestamp", "google.protobuf.Duration": "duration" }[
    message?.$typeName ?? ""
  ] as CelTime["celKind"] | undefined;
  if (!message || !kind) return undefined;
  const { seconds, nanos } = message as Timestamp | Duration;
  return { celKind: kind, nanos: seconds * 1_000_000_000n + BigInt(nanos) };
}

/** Type and value: 1, 1u and 1.0 differ, and the order of a map's keys does not count. */
function spelled(value: CelValue): string {
  if (isList(value)) return `[${value.map(spelled).join(", ")}]`;
  if (isMap(value)) {
    const entries = value.keys().map((key) => `${spelled(key)}: ${spelled(value.get(key) ?? null)}`);
    return `{${entries.sort().join(", ")}}`;
  }
  switch (kindOf(value)) {
    case "optional": {
      const inner = (value as CelOptional).value;
      return `optional(${inner === undefined ? "" : spelled(inner)})`;
    }
    case "timestamp":
    case "duration":
      return `${typeName(value)}(${(value as CelTime).nanos})`;
    case "type":
      return `type(${(value as CelTypeValue).type})`;
    default:
      return `${typeName(value)}(${String(value)})`;
  }
}

/** The fault of a case: undefined when it holds. */
function faultOf(test: SimpleTest): string | undefined {
  const variables = Object.entries(test.bindings).map(
    ([name, { kind }]) => [name, kind.case === "value" ? valueOf(kind.value) : undefined] as const,
  );
  if (variables.some(([, value]) => value === undefined)) return MESSAGE;
  if (test.checkOnly) return CHECK_ONLY;
  const expected = expectationOf(test.resultMatcher);
  if (expected === undefined) return MESSAGE;
  const actual = answer(test, Object.fromEntries(variables));
  return actual === expected ? undefined : `${actual} instead of ${expected}`;
}

const ERROR = "an error";

function expectationOf(matcher: SimpleTest["resultMatcher"]): string | undefined {
  switch (matcher.case) {
    case "evalError":
    case "anyEvalErrors":
      return ERROR;
    case "value":
      return spell(valueOf(matcher.value));
    case "typedResult":
      return spell(matcher.value.result && valueOf(matcher.value.result));
    default:
      return spelled(true);
  }
}

function spell(value: CelValue | undefined): string | undefined {
  return value === undefined ? undefined : spelled(value);
}

/** A syntax error or an unknown name counts as the error only where the case is about names: else it would hold for the wrong reason. */
function answer(test: SimpleTest, variables: Record<string, CelValue | undefined>): string {
  const declared = [...Object.keys(variables), ...test.typeEnv.map(({ name }) => name)];
  const names = Object.fromEntries(declared.map((name) => [name, undefined]));
  const fault = test.disableCheck ? undefined : checkExpression(test.expr, names);
  if (fault) {
    const isAsked = isOfNames(fault.message) ? isAboutNames(test) : expectationOf(test.resultMatcher) === ERROR;
    return isAsked ? ERROR : fault.message;
  }
  try {
    return spelled(evaluate(compileExpression(test.expr), variables));
  } catch (error) {
    if (!(error instanceof CelError || error instanceof CelSyntaxError)) throw error;
    return isOfNames(error.message) && !isAboutNames(test) ? error.message : ERROR;
  }
}

function isOfNames(message: string): boolean {
  return /Syntax error|undeclared reference|no such attribute/.test(message);
}

function isAboutNames({ resultMatcher }: SimpleTest): boolean {
  if (resultMatcher.case !== "evalError") return false;
  return resultMatcher.value.errors.some(({ message }) => /undeclared|unbound|unknown variable/.test(message));
}

describe("CEL's conformance cases", () => {
  const failing = suite.flatMap((one) => {
    const fault = faultOf(one.test);
    return fault === undefined ? [] : [{ ...one, fault }];
  });
  const excuses = failing.map((one) => ({ one, gap: gaps.find((gap) => gap.matches(one, one.fault)) }));

  it("hold, or have a reason in the table", () => {
    const faults = excuses.filter(({ gap }) => !gap).map(({ one }) => `${one.path}: ${one.test.expr}: ${one.fault}`);
    expect(faults).toEqual([]);
  });

  it.each(gaps)("have this reason still: $reason", (gap) => {
    expect(excuses.some((excuse) => excuse.gap === gap)).toBe(true);
  });

  it("hold in these shares", () => {
    const all = Map.groupBy(suite, ({ file }) => file);
    const shares = [...all].map(([file, cases]) => {
      const failed = failing.filter((one) => one.file === file).length;
      return [file, `${cases.length - failed} of ${cases.length}`] as const;
    });
    expect(Object.fromEntries(shares)).toEqual(expectedShares);
  });

  it("are counted in docs/expressions.md, with the reasons", () => {
    const page = readFileSync(new URL("../../docs/expressions.md", import.meta.url), "utf8");
    expect(page).toContain(`${suite.length - failing.length} of ${suite.length}`);
    for (const gap of gaps) {
      const count = excuses.filter((excuse) => excuse.gap === gap).length;
      expect(page).toContain(`| ${count} | ${gap.reason} |`);
    }
  });
});

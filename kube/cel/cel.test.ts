// The tested list: what expressions may use, and what it gives. Values are written as their JSON-like text.
import { describe, expect, it } from "vitest";
import { CelSyntaxError } from "./compiled.ts";
import { compileExpression, evaluate } from "./program.ts";
import { BudgetError, CelError, fromJson, isList, isMap, typeName, type CelValue } from "./values.ts";

const object = {
  metadata: { name: "web", namespace: "ns", labels: { "a/b": "c" } },
  spec: {
    n: 3,
    ratio: 1.5,
    on: true,
    none: null,
    list: [1, 2, 3],
    items: [
      { k: "a", v: 1 },
      { k: "b", v: 2 },
    ],
    mixed: { a: 1, b: "x" },
  },
};
const same = { spec: { mixed: { b: "x", a: 1 } } };

function run(text: string): CelValue {
  return evaluate(compileExpression(text), { object: fromJson(object), same: fromJson(same), x: "x", nothing: null });
}

function show(value: CelValue): unknown {
  if (isList(value)) return value.map(show);
  if (isMap(value)) return Object.fromEntries(value.keys().map((key) => [String(key), show(value.get(key) ?? null)]));
  if (typeof value === "bigint") return Number(value);
  return typeof value === "object" && value !== null ? typeName(value) : value;
}

describe("values", () => {
  it.each<[string, unknown]>([
    ["object.spec.n + 1 == 4", true],
    ["object.spec.n == 3.0", true],
    ["object.spec.n < 3.5", true],
    ["object.spec.ratio * 2.0", 3],
    ["7 / 2", 3],
    ["-7 % 3", -1],
    ["1u + 2u == 3u", true],
    ['"a" + "b"', "ab"],
    ["[1] + [2, 3]", [1, 2, 3]],
    ["object.metadata.labels['a/b']", "c"],
    ["object.spec.mixed == same.spec.mixed", true],
    ["object.spec.mixed == {'a': 1, 'b': 'y'}", false],
    ["[{'a': 1}] == [{'a': 1.0}]", true],
    ["object.spec.none == null", true],
    ["'x' == 1", false],
    ["'a' in object.spec.mixed", true],
    ["2 in object.spec.list", true],
    ["has(object.spec.n)", true],
    ["has(object.spec.items[0].k) && !has(object.spec.items[0].z)", true],
    ["has(object.spec.none)", true],
    ["object.?spec.?zzz.orValue(5)", 5],
    ["object.?spec.?n.orValue(5)", 3],
    ["object.?spec.?none.orValue(5)", null],
    ["object.?spec.?none.value() == null", true],
    ["nothing == null && !has(object.nothing)", true],
    ["object[?'spec'].?n.hasValue()", true],
    ["object.?zzz.optMap(z, z.a).orValue('d')", "d"],
    ["optional.of(1).or(optional.none()).value()", 1],
    ["optional.none() == optional.none()", true],
    ["object.spec.on ? 'y' : 'n'", "y"],
    ["object.zzz || true", true],
    ["true || object.zzz", true],
    ["object.zzz && false", false],
    ["type(1) == int && type('') == string && type([]) == list && type({}) == map && type(null) == null_type", true],
    ["type(timestamp('2024-01-01T00:00:00Z')) == google.protobuf.Timestamp", true],
    ["int('5') + int(2.9) + int(1u)", 8],
    ["string(1) + string(1.5) + string(true)", "11.5true"],
    ["double('1e2')", 100],
    ["bool('true')", true],
    ["b'abc' == bytes('abc')", true],
    ["size('äö') + size([1]) + size({'a': 1})", 4],
    ["dyn('x') == x", true],
  ])("%s", (text, expected) => {
    expect(show(run(text))).toEqual(expected);
  });
});

describe("macros", () => {
  it.each<[string, unknown]>([
    ["object.spec.list.all(i, i > 0)", true],
    ["object.spec.list.exists(i, i > 2)", true],
    ["object.spec.list.exists_one(i, i > 2)", true],
    ["object.spec.list.map(i, i * 2)", [2, 4, 6]],
    ["object.spec.list.map(i, i > 1, i * 2)", [4, 6]],
    ["object.spec.list.filter(i, i > 1)", [2, 3]],
    ["object.spec.mixed.all(k, k in ['a', 'b'])", true],
    ["object.spec.mixed.exists(k, v, k == 'b' && v == 'x')", true],
    ["object.spec.list.all(i, v, v == i + 1)", true],
    ["object.spec.items.all(a, object.spec.items.exists(b, b.k == a.k))", true],
    ["[0, 1].exists(i, 1 / i == 1)", true],
    ["[1, 0].all(i, 1 / i == 2)", false],
    ["[5, 6].transformList(i, v, i + v)", [5, 7]],
    ["[5, 6].transformList(i, v, v > 5, i)", [1]],
    ["{'a': 1}.transformMap(k, v, k + string(v))", { a: "a1" }],
    ["[5, 6].transformMap(i, v, v > 5, v)", { 1: 6 }],
    ["{'a': 1}.transformMapEntry(k, v, {string(v): k, 'n': v})", { 1: "a", n: 1 }],
    ["[1, 2].existsOne(i, v, v > 1)", true],
  ])("%s", (text, expected) => {
    expect(show(run(text))).toEqual(expected);
  });
});

describe("functions", () => {
  it.each<[string, unknown]>([
    ["'abc'.startsWith('a') && 'abc'.endsWith('c') && 'abc'.contains('b')", true],
    ["'foo-1'.matches('^[a-z]+-[0-9]$') && !matches('x', '^y')", true],
    ["'a,b,c'.split(',')", ["a", "b", "c"]],
    ["'a,b,c'.split(',', 2)", ["a", "b,c"]],
    ["['a', 'b'].join('-') + ['c'].join()", "a-bc"],
    ["'AbÄ'.lowerAscii() + 'abä'.upperAscii()", "abÄABä"],
    ["'aXbX'.replace('X', '-')", "a-b-"],
    ["'aXbX'.replace('X', '-', 1)", "a-bX"],
    ["'hello'.substring(1, 3) + 'hello'.substring(3)", "ello"],
    ["'  x '.trim() + 'abc'.charAt(1)", "xb"],
    ["'hello'.indexOf('l') * 10 + 'hello'.lastIndexOf('l')", 23],
    ["'hello'.indexOf('z')", -1],
    ["'a1b2'.find('[0-9]')", "1"],
    ["'a1b2'.findAll('[0-9]')", ["1", "2"]],
    ["'%s has %d (%.1f) %s'.format(['x', 2, 1.25, [1, 'a']])", 'x has 2 (1.2) [1, "a"]'],
    ["strings.quote('a\"b')", '"a\\"b"'],
    ["[1, 2, 2].isSorted() && ![2, 1].isSorted()", true],
    ["[1, 2].sum() + [5, 3].min() + [5, 3].max()", 11],
    ["[1, 2, 1].indexOf(1) * 10 + [1, 2, 1].lastIndexOf(1)", 2],
    ["sets.contains([1, 2], [2]) && sets.intersects([1], [1, 2]) && sets.equivalent([1, 2], [2, 1, 1])", true],
    ["quantity('1Gi').isGreaterThan(quantity('1000M')) && isQuantity('250m') && !isQuantity('1 GB')", true],
    ["quantity('1.5Gi').asInteger()", 1610612736],
    ["quantity('500m').add(quantity('1.5')) == quantity('2')", true],
    ["quantity('1k').compareTo(quantity('1000'))", 0],
    ["isURL('https://a.b:80/c?d=e') && !isURL('a b')", true],
    [
      "url('https://a.b:80/c?d=e').getHost() + url('https://a.b:80/c').getHostname() + url('https://a.b:80/c').getPort()",
      "a.b:80a.b80",
    ],
    ["url('https://a.b/c?d=e&d=f').getQuery()['d']", ["e", "f"]],
    ["url('https://a.b/c?constructor=e').getQuery()['constructor']", ["e"]],
    ["duration('1h30m').getMinutes()", 90],
    ["string(duration('90m'))", "5400s"],
    ["duration('1h') > duration('59m')", true],
    ["timestamp('2024-02-29T12:30:00Z').getFullYear()", 2024],
    ["timestamp('2024-02-29T23:30:00Z').getHours('Europe/Berlin')", 0],
    ["timestamp('2024-01-02T00:00:00Z') - timestamp('2024-01-01T00:00:00Z') == duration('24h')", true],
    ["string(timestamp('2024-01-01T00:00:00.5+01:00'))", "2023-12-31T23:00:00.5Z"],
    ["format.dns1123Label().validate('a-b').hasValue()", false],
    ["format.named('dns1123Label').value().validate('A_B').hasValue()", true],
    ["isIP('10.0.0.1') && ip('::1').isLoopback() && cidr('10.0.0.0/8').containsIP('10.1.2.3')", true],
  ])("%s", (text, expected) => {
    expect(show(run(text))).toEqual(expected);
  });
});

/** Each answer is that of kube-apiserver's own environment, version 1.34. */
describe("as kube-apiserver answers", () => {
  it.each<[string, unknown]>([
    [
      "'%s'.format([['a', 1.5, null, [2], b'c', duration('1h')]])",
      '["a", 1.500000, null, [2], b"c", duration("3600s")]',
    ],
    ["'%s'.format([{'x': 'y', 'a': 'b\"c', 'n': 1.0}])", '{"a":"b\\"c", "n":1.000000, "x":"y"}'],
    ["'%s %s %s'.format([1.5, type(1), null])", "1.5 int null"],
    ["'%f %.2f %.1f'.format([1234567.891, 1234.5, -1234567.25])", "1,234,567.891000 1,234.50 -1,234,567.2"],
    ["'%.0f %.1f %.3f'.format([2.5, 1.25, 999999.9999])", "2 1.2 1,000,000.000"],
    ["'%f'.format([1e22])", "10,000,000,000,000,000,000,000.000000"],
    ["'%e %.1e %e'.format([1234567.891, 0.00012, 1e-100])", "1.234568×10⁰⁶ 1.2×10⁻⁰⁴ 1.000000×10⁻¹⁰⁰"],
    ["'%f %f %f'.format([double('nan'), 'Infinity', double('-Inf')])", "NaN ∞ -∞"],
    ["'%e|%.1e'.format([double('Infinity'), double('Infinity')])", "     ∞|∞"],
    ["'%x %X %x %x %x'.format([26, 26, 'hello', b'hello', -26])", "1a 1A 68656c6c6f 68656c6c6f -1a"],
    [
      "string(999999.0) + ' ' + string(1234567.0) + ' ' + string(0.0001) + ' ' + string(0.00001)",
      "999999 1.234567e+06 0.0001 1e-05",
    ],
    ["string(2e7) + ' ' + string(-0.0) + ' ' + string(1e21)", "2e+07 -0 1e+21"],
    ["strings.quote('\\a\\v\\u0001é')", '"\\a\\v\u0001é"'],
    ["'\\u0085\\u00a0a\\ufeff '.trim() == 'a\\ufeff'", true],
    ["'abc'.replace('', '-') + 'abc'.replace('', '-', 2) + 'abc'.replace('b', 'x', 0)", "-a-b-c--a-bcabc"],
    ["'abc'.indexOf('a', 9) + 'abc'.lastIndexOf('a', 9) + 'aaa'.lastIndexOf('a', 3)", -3],
    ["[['abc'.indexOf('', 9), 'aaa'.lastIndexOf('', 1), 'aaa'.lastIndexOf('')]]", [[9, 1, 3]]],
    ["9007199254740993 == dyn(9007199254740992.0)", true],
    ["duration('123.321456789s').getMilliseconds()", 123321],
    ["int(duration('1us')) + int(timestamp('1969-12-31T23:59:59.5Z'))", 999],
    ["string(timestamp('2024-01-01T00:00:00.1234567891Z'))", "2024-01-01T00:00:00.123456789Z"],
    ["[{}, b'', 0u, duration('0s')].exists(x, optional.ofNonZeroValue(x).hasValue())", false],
    ["type(optional.none()) == optional_type", true],
    ["[[1, 2].first().value(), [1, 2].last().value(), [3].filter(x, x > 3).first().orValue(4)]", [1, 2, 4]],
    ["optional.unwrap([optional.of(1), optional.none()]) + [optional.none(), optional.of(2)].unwrapOpt()", [1, 2]],
    ["optional.unwrap([optional.of([1, 2])])", [[1, 2]]],
    ["has(object.spec.none.a) || has(object.spec.n.a) || has(object.metadata.name.a)", false],
    ["object.?spec.none.a.hasValue() || object.spec.n.?a.hasValue()", false],
    ["[1, 2][dyn(1u)] + [1, 2][dyn(0.0)]", 3],
  ])("%s", (text, expected) => {
    expect(show(run(text))).toEqual(expected);
  });
  it.each([
    [
      "'%f'.format([object.spec.n])",
      "error during formatting: fixed-point clause can only be used on doubles, was given int",
    ],
    ["'%d'.format([object])", "error during formatting: decimal clause can only be used on integers, was given map"],
    ["'%s'.format([[ip('::1')]])", "error during formatting: no formatting function for net.IP"],
    ["'%s'.format([ip('::1')])", "error during formatting: string clause can only be used on strings, bools"],
    ["'a%'.format([1])", "unexpected end of string"],
    ["string(b'\\xff')", "invalid UTF-8 in bytes, cannot convert to string"],
    ["{'a': 1, 'b': 2}.transformMapEntry(k, v, {'x': v})", "insert failed: key already exists"],
    ["timestamp('2024-02-30T00:00:00Z')", "type conversion error"],
    ["timestamp('2024-01-01t00:00:00z')", "type conversion error"],
    ["duration('9999999h')", "type conversion error"],
    ["double('1e400')", "type conversion error"],
    ["object.spec.n.a", "no such key: a"],
    ["object.metadata.name[0]", "no such key: 0"],
    ["has(object.spec.list.a)", "unsupported index type 'string' in list"],
    ["object.spec.list[1.5]", "unsupported index value 1.5 in list"],
    ["object.spec.list[-1]", "index out of bounds: -1"],
  ])("%s fails", (text, message) => {
    expect(() => run(text)).toThrow(CelError);
    expect(() => run(text)).toThrow(message);
  });
});

describe("faults", () => {
  it.each([
    ["object.zzz", "no such key: zzz"],
    ["object.spec.list[9]", "index out of bounds: 9"],
    ["1 / 0", "division by zero"],
    ["9223372036854775807 + 1", "integer overflow"],
    ["1 + 1.0", "no such overload"],
    ["'a' < 1", "no such overload"],
    ["zzz", "no such attribute(s): zzz"],
    ["nope(1)", "undeclared reference to 'nope'"],
    ["'x'.nope()", "no such overload"],
    ["'x'.reverse()", "no such overload"],
    ["'x'.matches('(')", /^error parsing regexp: missing/],
    ["optional.none().value()", "optional.none() dereference"],
    ["[1].all(i, object.zzz == i)", "no such key: zzz"],
  ])("%s", (text, message) => {
    expect(() => run(text)).toThrow(CelError);
    expect(() => run(text)).toThrow(message);
  });
  it.each(["1 +", "has(x)", "[1].map(1, 2)", "a b", "[1].all(i, i, true)"])("does not compile: %s", (text) => {
    expect(() => compileExpression(text)).toThrow(CelSyntaxError);
  });
  it("ends a loop that costs too much, whatever it is wrapped in", () => {
    const list = `[${Array.from({ length: 100 }, (_, i) => i).join(",")}]`;
    const text = `${list}.all(a, ${list}.all(b, ${list}.all(c, ${list}.all(d, false || a >= 0)))) || true`;
    expect(() => run(text)).toThrow(BudgetError);
  });
});

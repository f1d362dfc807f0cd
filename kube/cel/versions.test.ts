// Each feature has the minor that kube-apiserver's source gives it, and the newest of an expression decides.
import { describe, expect, it } from "vitest";
import { introducedIn } from "./functions/introduced.ts";
import { functionNames } from "./functions/registry.ts";
import { compileExpression } from "./program.ts";
import { kubernetesVersionOf, newestFeature } from "./versions.ts";

describe("kubernetesVersionOf", () => {
  it.each([
    ["object.spec.n > 1 && 'a'.startsWith('b')", "1.25"],
    ["[1].all(x, x > 0) && [1].map(x, x > 0, x * 2).sum() == 2 && [1].exists_one(x, x == 1)", "1.25"],
    ["authorizer.group('apps').resource('deployments').check('get').allowed()", "1.27"],
    ["object.?spec.n.hasValue()", "1.28"],
    ["object[?'spec'] == object", "1.28"],
    ["variables.a.optMap(x, x + 1) == b", "1.28"],
    ["quantity('1Gi').isGreaterThan(quantity('1M'))", "1.28"],
    ["'%d'.format([1]) == strings.quote('1')", "1.29"],
    ["sets.contains([1], [1])", "1.29"],
    ["cidr('10.0.0.0/8').containsIP(object.ip)", "1.30"],
    ["cidr('10.0.0.0/8').ip().family() == 4", "1.30"],
    ["!format.dns1123Label().validate(object.name).hasValue()", "1.31"],
    ["authorizer.group('').resource('pods').fieldSelector('a=b').check('list').allowed()", "1.31"],
    ["object.labels.all(k, v, k == v)", "1.32"],
    ["[1].exists_one(i, v, i == v)", "1.32"],
    ["[1].first().hasValue()", "1.33"],
    ["optional.unwrap([a])", "1.33"],
    ["[1].existsOne(i, v, i == v)", "1.32"],
    ["{'a': 1}.transformMap(k, v, v > 0, k)", "1.32"],
  ])("%s: %s", (expression, minor) => {
    expect(kubernetesVersionOf(expression)).toBe(minor);
  });

  it("looks into every part: lists, maps, conditions, macros, arguments", () => {
    for (const hole of ["[1, HOLE]", "{'a': HOLE}", "{HOLE: 1}", "a ? 1 : HOLE", "[1].map(x, HOLE)", "string(HOLE)"])
      expect(kubernetesVersionOf(hole.replace("HOLE", "ip('::1')")), hole).toBe("1.30");
  });

  it("names the feature that decides", () => {
    const { ast } = compileExpression("quantity('1').sign() == 1 && isIP('::1') && sets.contains([1], [1])");
    expect(newestFeature(ast)).toEqual({ name: "isIP", minor: "1.30" });
    expect(newestFeature(compileExpression("a == 1").ast)).toBeUndefined();
  });

  it("takes no field and no text for a function", () => {
    expect(kubernetesVersionOf("object.ip == 'quantity(1)' && object.format.named == 1")).toBe("1.25");
  });
});

describe("introducedIn", () => {
  it.each(functionNames())("knows %s", (name) => {
    expect(introducedIn.has(name)).toBe(true);
  });
});

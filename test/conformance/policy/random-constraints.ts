// Random constraints: of the shipped templates, and of two that put their parameters and the place into the sentence.
import type { JudgingConstraint } from "../../../crds/policy-template/evaluate.ts";
import { policyTemplateObjects } from "../../../crds/policy-template/default-templates.ts";
import { PolicyTemplate, type PolicyTemplateSpec } from "../../../crds/policy-template/policy-template.ts";
import type { Random } from "../rbac/random.ts";
import { constrain } from "./places.ts";

const text = { type: "string", maxLength: 100 };

/** Tells every literal, and the facts of the place. */
const ECHO = PolicyTemplate.spec.parse({
  kind: "Echo",
  title: "Echo 'it'",
  subjects: ["App", "Org", "Space", "SecurityGroup", "Route"],
  parameters: {
    schema: {
      type: "object",
      required: ["odd"],
      properties: {
        odd: { type: "array", maxItems: 3, items: text },
        limits: { type: "object", properties: { whole: { type: "integer" }, broken: { type: "number" } } },
      },
    },
  },
  variables: [
    { name: "limits", expression: "has(variables.params.limits) ? variables.params.limits : {}" },
    {
      name: "numbers",
      expression: "['whole', 'broken'].map(k, k in variables.limits ? string(variables.limits[k]) : '-').join(' ')",
    },
  ],
  rules: [
    {
      expression: "object.metadata.name in variables.params.odd",
      message: "the name is not odd",
      messageExpression: "variables.params.odd.join('|') + ' ' + variables.numbers",
    },
    {
      expression: "variables.org == 'other'",
      messageExpression: "'in ' + variables.org + '/' + variables.space + ' on ' + request.operation",
    },
    { expression: "object.spec.name.startsWith('s')", message: "the name starts with s" },
  ],
});

const CHANGES = PolicyTemplate.spec.parse({
  kind: "Changes",
  title: "Changes",
  subjects: ["Process", "App", "Route"],
  needs: ["oldObject", "user"],
  rules: [
    {
      expression: "oldObject == null || object.spec == oldObject.spec",
      messageExpression: "request.userInfo.username + ' changes ' + oldObject.metadata.name",
    },
    { expression: "request.userInfo.groups.exists(g, g == 'others')", message: "is for others" },
  ],
});

const TEMPLATES: readonly PolicyTemplateSpec[] = [
  ...policyTemplateObjects().map(({ spec }) => PolicyTemplate.spec.parse(spec)),
  ECHO,
  CHANGES,
];

const ODD = ["it's", 'a"b', "back\\slash", "\\n", "tab\there", "é…", "😀", "${x}", "", " a ", "%s", "`"];

/** Texts by the name of their parameter. */
const TEXTS: Record<string, readonly string[]> = {
  key: ["owner", "env", "example.com/owner", "it.s"],
  pattern: ["^[a-z]+$", "[a-z]+", "\\d{1,2}", "(?i)SHOP", "shop|x", "^$", "\\p{L}+", "["],
  prefixes: ["ghcr.io/", "ghcr.io/acme", "example.com", "docker.io/library/"],
  names: ["java", "go", "https://example.com/bp.git"],
  domains: ["apps", "example.com"],
  allowed: ["proxy", "miner"],
  denied: ["0.0.0.0/0", "10.0.0.0/8"],
  type: ["web", "worker"],
};

interface Schema {
  type?: string;
  enum?: string[];
  items?: Schema;
  required?: string[];
  properties?: Record<string, Schema>;
}

function valueOf(random: Random, schema: Schema, name: string): unknown {
  switch (schema.type) {
    case "object":
      return Object.fromEntries(
        Object.entries(schema.properties ?? {})
          .filter(([key]) => schema.required?.includes(key) || random.chance(50))
          .map(([key, one]) => [key, valueOf(random, one, key)]),
      );
    case "array":
      return Array.from({ length: random.int(4) }, () => valueOf(random, schema.items ?? {}, name));
    case "integer":
      return random.pick([1, 2, 3, 256, 512, 1024]);
    case "number":
      return random.pick([1.5, 0.1, -2.25, 1e21, 3, 1e-7]);
    case "boolean":
      return random.chance(50);
    default:
      return random.pick(schema.enum ?? TEXTS[name] ?? ODD);
  }
}

const KEYS = ["tier", "env", "example.com/owner", "nope"];
const VALUES = ["gold", "production", "test", "ada", ""];

function selectorOf(random: Random, keys: readonly string[]): object {
  return {
    ...(random.chance(50) && { matchLabels: { [random.pick(keys)]: random.pick(VALUES) } }),
    ...(random.chance(50) && {
      matchExpressions: random
        .some(["In", "NotIn", "Exists", "DoesNotExist"], 1, 2)
        .map((operator) => ({ key: random.pick(keys), operator, values: random.some(VALUES, 0, 3) })),
    }),
  };
}

const except = (random: Random): object => ({
  space: random.pick(["acme/dev", "acme/prod-eu", "other/dev"]),
  reason: "x",
  ...(random.chance(50) && { name: random.pick(["shop", "x"]) }),
  ...(random.chance(30) && { until: random.pick(["2020-01-01T00:00:00Z", "2999-01-01T00:00:00Z"]) }),
});

function matchOf(random: Random): object {
  const part = (percent: number, value: object): object => (random.chance(percent) ? value : {});
  return {
    ...part(25, { orgs: random.some(["acme", "other", "*", "ac*", "*er", "x"], 1, 2) }),
    ...part(25, { spaces: random.some(["acme/dev", "acme/prod-*", "*/dev", "*", "other/*", "acme/*"], 1, 2) }),
    ...part(15, { orgLabels: selectorOf(random, KEYS) }),
    ...part(15, { spaceLabels: selectorOf(random, KEYS) }),
    ...part(20, { objectLabels: selectorOf(random, ["env", "owner", "nope"]) }),
    ...part(20, { except: [except(random)] }),
  };
}

/** A constraint of a random template. */
export function makeConstraint(random: Random, at: number): JudgingConstraint {
  const template = random.pick(TEMPLATES);
  const schema = (template.parameters?.schema ?? { type: "object" }) as Schema;
  return constrain(template, `c-${at}`, {
    ...(random.chance(70) && { match: matchOf(random) }),
    // Some lack what the schema asks for, as after a change of the schema.
    parameters: random.chance(95) ? valueOf(random, schema, "") : {},
    enforcement: { action: random.pick(["deny", "warn", "warn", "warn", "dryrun"]) },
  });
}

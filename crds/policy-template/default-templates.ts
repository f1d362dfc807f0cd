// The PolicyTemplates that come with the platform. None has a constraint: nothing is refused until an operator makes one (docs/policy.md).
import type { KubeObject } from "../../kube/api/object.ts";
import { apiVersionOf } from "../../kube/api/resource-ref.ts";
import type { SpecInput } from "../../kube/api/resource.ts";
import { PolicyTemplate } from "./policy-template.ts";

type TemplateInput = SpecInput<typeof PolicyTemplate>;

const text = (maxLength: number) => ({ type: "string", maxLength });
const listOf = (items: object, maxItems = 50) => ({ type: "array", maxItems, items });
const regex = { ...text(200), format: "regex" };
const size = { type: "integer", minimum: 1 };
/** As in spec.cpu: `500m`, `2`. */
const cpu = { ...text(16), pattern: "^[0-9]+(\\.[0-9]+)?m?$" };

/** A schema of parameters, of which the named ones are required. */
function parameters(properties: Record<string, object>, required: readonly string[]): TemplateInput["parameters"] {
  return { schema: { type: "object", ...(required.length > 0 && { required: [...required] }), properties } };
}

const TEMPLATES: readonly TemplateInput[] = [
  {
    kind: "RequiredLabels",
    title: "Required labels",
    subjects: ["App", "Space"],
    parameters: parameters(
      {
        labels: listOf({ type: "object", required: ["key"], properties: { key: text(253), pattern: regex } }, 20),
      },
      ["labels"],
    ),
    variables: [
      {
        name: "missing",
        expression:
          "variables.params.labels.filter(l, !(has(object.metadata.labels) && l.key in object.metadata.labels && (!has(l.pattern) || object.metadata.labels[l.key].matches(l.pattern))))",
      },
    ],
    rules: [
      {
        expression: "size(variables.missing) == 0",
        messageExpression:
          "'needs the label ' + variables.missing.map(l, l.key + (has(l.pattern) ? ' that matches ' + l.pattern : '')).join(', ')",
        field: "metadata.labels",
      },
    ],
  },
  {
    kind: "AllowedImages",
    title: "Allowed images",
    subjects: ["Package", "Droplet"],
    parameters: parameters({ prefixes: listOf(text(255)), digestOnly: { type: "boolean" } }, ["prefixes"]),
    // A droplet's image counts however it was built: anybody may name an image as one of Cloud Native Buildpacks.
    variables: [{ name: "image", expression: "has(object.spec.image) ? object.spec.image : ''" }],
    rules: [
      {
        expression:
          "variables.image == '' || variables.params.prefixes.exists(p, variables.image.startsWith(p.endsWith('/') ? p : p + '/'))",
        messageExpression: `'the image ' + variables.image + (${listed("prefixes", " is refused, as any image", " is not from ")})`,
        field: "spec.image",
      },
      {
        expression:
          "variables.image == '' || !has(variables.params.digestOnly) || !variables.params.digestOnly || variables.image.matches('@sha256:[0-9a-f]{64}$')",
        message: "name the image by its digest, as image@sha256:…",
        field: "spec.image",
      },
    ],
  },
  {
    kind: "AllowedBuildpacks",
    title: "Allowed buildpacks",
    subjects: ["App", "Build"],
    parameters: parameters({ names: listOf(text(1024)), allowDetection: { type: "boolean" } }, ["names"]),
    rules: [
      {
        expression:
          "!has(object.spec.lifecycle) || object.spec.lifecycle.type == 'docker' || !has(object.spec.lifecycle.buildpacks) || object.spec.lifecycle.buildpacks.all(b, b in variables.params.names)",
        messageExpression: listed("names", "no buildpack is allowed", "the buildpacks are "),
        field: "spec.lifecycle.buildpacks",
      },
      {
        expression:
          "!has(object.spec.lifecycle) || object.spec.lifecycle.type == 'docker' || (has(object.spec.lifecycle.buildpacks) && size(object.spec.lifecycle.buildpacks) > 0) || !has(variables.params.allowDetection) || variables.params.allowDetection",
        messageExpression: listed("names", "no buildpack is allowed", "name a buildpack (cf push -b): "),
        field: "spec.lifecycle.buildpacks",
      },
    ],
  },
  {
    kind: "SizeLimit",
    title: "Size limit",
    subjects: ["Process", "Rollout", "Task"],
    parameters: parameters({ maxMemoryMB: size, maxDiskMB: size, maxCPU: cpu }, []),
    rules: [
      ...["Memory", "Disk"].map((part) => sizeRule(part)),
      {
        expression:
          "!has(variables.params.maxCPU) || !has(object.spec.cpu) || !quantity(object.spec.cpu).isGreaterThan(quantity(variables.params.maxCPU))",
        messageExpression: "'at most ' + variables.params.maxCPU + ' of CPU'",
        field: "spec.cpu",
      },
    ],
    scale: "true",
  },
  {
    kind: "MinimumInstances",
    title: "Minimum of instances",
    subjects: ["Process", "Rollout"],
    parameters: parameters({ type: text(63), min: size }, ["min"]),
    rules: [
      {
        expression: `${otherProcess()} || !has(object.spec.instances) || object.spec.instances == 0 || object.spec.instances >= variables.params.min`,
        messageExpression: "'needs at least ' + string(variables.params.min) + ' instances'",
        field: "spec.instances",
      },
    ],
  },
  {
    kind: "DomainsDenied",
    title: "Denied domains",
    subjects: ["Route"],
    parameters: parameters({ domains: listOf(text(253)) }, ["domains"]),
    rules: [
      {
        expression: "!(object.spec.domainRef.name in variables.params.domains)",
        messageExpression: "'no routes on the domain ' + object.spec.domainRef.name",
        field: "spec.domainRef",
      },
    ],
  },
  {
    kind: "HostPattern",
    title: "Host names",
    subjects: ["Route"],
    parameters: parameters({ pattern: regex, allowApex: { type: "boolean" } }, ["pattern"]),
    rules: [
      {
        expression:
          "!has(object.spec.host) || object.spec.host == '' ? has(variables.params.allowApex) && variables.params.allowApex : object.spec.host.matches('^(?:' + variables.params.pattern + ')$')",
        messageExpression: "'the host name must match ' + variables.params.pattern",
        field: "spec.host",
      },
    ],
  },
  {
    kind: "AllowedSidecars",
    title: "Allowed sidecars",
    subjects: ["App", "Droplet"],
    parameters: parameters({ allowed: listOf(text(255)) }, ["allowed"]),
    rules: [
      {
        expression: "!has(object.spec.sidecars) || object.spec.sidecars.all(s, s.name in variables.params.allowed)",
        messageExpression: listed("allowed", "no sidecar is allowed", "the sidecars are "),
        field: "spec.sidecars",
      },
    ],
  },
  {
    kind: "LifecyclesDenied",
    title: "Denied lifecycles",
    subjects: ["App", "Build"],
    parameters: parameters({ types: listOf({ type: "string", enum: ["buildpack", "cnb", "docker"] }, 3) }, ["types"]),
    rules: [
      {
        expression: "!has(object.spec.lifecycle) || !(object.spec.lifecycle.type in variables.params.types)",
        messageExpression: "'no apps with the lifecycle ' + object.spec.lifecycle.type",
        field: "spec.lifecycle.type",
      },
    ],
  },
  {
    kind: "EgressLimit",
    title: "Egress",
    subjects: ["SecurityGroup"],
    parameters: parameters({ denied: listOf(text(64)) }, ["denied"]),
    rules: [
      {
        expression:
          "!has(object.spec.rules) || object.spec.rules.all(r, r.protocol != 'all' && !r.destination.split(',').exists(d, d.trim() in variables.params.denied))",
        messageExpression: `'no rule for all protocols' + (${listed("denied", "", ", and none to ")})`,
        field: "spec.rules",
      },
    ],
  },
];

/** A CEL expression: a text for an empty list of parameters, or one that its items follow. */
function listed(list: string, none: string, some: string): string {
  const items = `variables.params.${list}`;
  return `size(${items}) == 0 ? '${none}' : '${some}' + ${items}.join(', ')`;
}

function sizeRule(part: string): TemplateInput["rules"][number] {
  const [field, most] = [`${part.toLowerCase()}MB`, `variables.params.max${part}MB`];
  return {
    expression: `!has(${most}) || !has(object.spec.${field}) || object.spec.${field} <= ${most}`,
    messageExpression: `'at most ' + string(${most}) + ' MB of ${part.toLowerCase()}'`,
    field: `spec.${field}`,
  };
}

function otherProcess(): string {
  return "(has(object.spec.type) ? object.spec.type : 'web') != (has(variables.params.type) ? variables.params.type : 'web')";
}

/** The shipped templates as objects. */
export function policyTemplateObjects(): KubeObject[] {
  return TEMPLATES.map((spec) => ({
    apiVersion: apiVersionOf(PolicyTemplate),
    kind: PolicyTemplate.kind,
    metadata: { name: spec.kind.toLowerCase() },
    spec,
  }));
}

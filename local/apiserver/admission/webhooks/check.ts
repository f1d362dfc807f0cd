// Whether a webhook configuration can be stored, in kube-apiserver's words.
import type { FieldError } from "../../types.ts";
import { duplicate, invalidValue, notSupported, required } from "../../field-errors.ts";
import { label1035Name, qualifiedName, subdomainName } from "../../registry/names.ts";
import { selectorRules } from "../../builtin/rules/selector.ts";
import { checkExpression } from "../../../../kube/cel/check.ts";
import "../authorizer-value.ts"; // declares the authorizer's methods
import type { ClientConfig, ResourceRule, Webhook } from "../../../../kube/admission/policy/types.ts";

const VERSIONS = ["v1", "v1beta1"];
const OPERATIONS = ["*", "CONNECT", "CREATE", "DELETE", "UPDATE"];
const MOST_SECONDS = 30;
const MOST_CONDITIONS = 64;

/** Faults of the webhooks of one configuration. */
export function checkWebhooks(webhooks: Webhook[]): FieldError[] {
  const names = new Set<string>();
  return webhooks.flatMap((webhook, index) => {
    const at = `webhooks[${index}]`;
    const isTwice = names.has(webhook.name);
    names.add(webhook.name);
    return [
      ...checkWebhook(webhook, at),
      ...checkVersions(webhook.admissionReviewVersions ?? [], `${at}.admissionReviewVersions`),
      ...(isTwice ? [duplicate(`${at}.name`, webhook.name)] : []),
    ];
  });
}

function checkWebhook(webhook: Webhook, at: string): FieldError[] {
  const { timeoutSeconds: seconds } = webhook;
  return [
    ...checkName(webhook.name, `${at}.name`),
    ...(webhook.rules ?? []).flatMap((rule, index) => checkRule(rule, `${at}.rules[${index}]`)),
    ...selectorRules(`${at}.namespaceSelector`, webhook.namespaceSelector),
    ...selectorRules(`${at}.objectSelector`, webhook.objectSelector),
    ...oneOf(webhook.failurePolicy, ["Fail", "Ignore"], `${at}.failurePolicy`),
    ...oneOf(webhook.matchPolicy, ["Equivalent", "Exact"], `${at}.matchPolicy`),
    ...(webhook.sideEffects === undefined
      ? [required(`${at}.sideEffects`, "must specify one of None, NoneOnDryRun")]
      : oneOf(webhook.sideEffects, ["None", "NoneOnDryRun"], `${at}.sideEffects`)),
    ...(seconds !== undefined && (seconds > MOST_SECONDS || seconds < 1)
      ? [invalidValue(`${at}.timeoutSeconds`, seconds, "the timeout value must be between 1 and 30 seconds")]
      : []),
    ...oneOf(webhook.reinvocationPolicy, ["IfNeeded", "Never"], `${at}.reinvocationPolicy`),
    ...checkClient(webhook.clientConfig ?? {}, `${at}.clientConfig`),
    ...checkConditions(webhook, `${at}.matchConditions`),
  ];
}

const oneOf = (value: string | undefined, allowed: string[], at: string): FieldError[] =>
  value === undefined || allowed.includes(value) ? [] : [notSupported(at, value, allowed)];

function checkName(name: string | undefined, at: string): FieldError[] {
  if (!name) return [required(at)];
  const faults = subdomainName(name, false);
  if (faults.length > 0) return faults.map((fault) => invalidValue(at, name, fault));
  return name.split(".").length < 3
    ? [invalidValue(at, name, "should be a domain with at least three segments separated by dots")]
    : [];
}

/** `*` says it all: nothing may stand beside it. */
function alone(values: string[] | undefined, at: string, what: string): FieldError[] {
  if (!values?.length) return [required(at)];
  return values.length > 1 && values.includes("*")
    ? [invalidValue(at, values, `if '*' is present, must not specify other ${what}`)]
    : [];
}

/** Faults of what says which requests something is for. */
export function checkRule(rule: ResourceRule, at: string): FieldError[] {
  return [
    ...alone(rule.operations, `${at}.operations`, "operations"),
    ...(rule.operations ?? []).flatMap((one, index) => oneOf(one, OPERATIONS, `${at}.operations[${index}]`)),
    ...alone(rule.apiGroups, `${at}.apiGroups`, "API groups"),
    ...alone(rule.apiVersions, `${at}.apiVersions`, "API versions"),
    ...(rule.apiVersions ?? []).flatMap((one, index) => (one === "" ? [required(`${at}.apiVersions[${index}]`)] : [])),
    ...checkResources(rule.resources ?? [], `${at}.resources`),
    ...oneOf(rule.scope, ["*", "Cluster", "Namespaced"], `${at}.scope`),
  ];
}

function checkResources(resources: string[], at: string): FieldError[] {
  if (resources.length === 0) return [required(at)];
  const errors = resources.flatMap((one, index) => (one === "" ? [required(`${at}[${index}]`)] : []));
  if (resources.length > 1 && resources.includes("*/*"))
    errors.push(invalidValue(at, resources, "if '*/*' is present, must not specify other resources"));
  if (resources.includes("*") && resources.some((one) => one !== "*" && !one.includes("/")))
    errors.push(
      invalidValue(at, resources, "if '*' is present, must not specify other resources without subresources"),
    );
  return errors;
}

function checkVersions(versions: string[], at: string): FieldError[] {
  if (versions.length === 0) return [required(at, `must specify one of ${VERSIONS.join(", ")}`)];
  const errors = versions.flatMap((version, index) => {
    if (versions.indexOf(version) < index) return [invalidValue(`${at}[${index}]`, version, "duplicate version")];
    return label1035Name(version, false).map((fault) => invalidValue(`${at}[${index}]`, version, fault));
  });
  // The older form of the question is not spoken here.
  return versions.includes("v1")
    ? errors
    : [...errors, invalidValue(at, versions, `must include at least one of ${VERSIONS.join(", ")}`)];
}

function checkClient({ url, service }: ClientConfig, at: string): FieldError[] {
  if ((url === undefined) === (service === undefined))
    return [required(at, "exactly one of url or service is required")];
  if (url !== undefined) return checkUrl(url, `${at}.url`);
  return [
    ...(service?.name ? [] : [required(`${at}.service.name`)]),
    ...(service?.namespace ? [] : [required(`${at}.service.namespace`)]),
  ];
}

function checkUrl(text: string, at: string): FieldError[] {
  const form = "; desired format: https://host[/path]";
  const url = URL.parse(text);
  if (!url) return [required(at, `url must be a valid URL${form}`)];
  const errors: FieldError[] = [];
  if (url.protocol !== "https:")
    errors.push(invalidValue(at, url.protocol.slice(0, -1), `'https' is the only allowed URL scheme${form}`));
  if (url.username || url.password)
    errors.push(invalidValue(at, url.username, "user information is not permitted in the URL"));
  if (url.hash) errors.push(invalidValue(at, url.hash.slice(1), "fragments are not permitted in the URL"));
  if (url.search) errors.push(invalidValue(at, url.search.slice(1), "query parameters are not permitted in the URL"));
  return errors;
}

const known = {
  object: undefined,
  oldObject: undefined,
  request: undefined,
  namespaceObject: undefined,
  authorizer: undefined,
};

function checkConditions({ matchConditions = [] }: Webhook, at: string): FieldError[] {
  const names = new Set<string>();
  const tooMany: FieldError[] =
    matchConditions.length > MOST_CONDITIONS
      ? [
          {
            reason: "FieldValueTooMany",
            field: at,
            message: `Too many: ${matchConditions.length}: must have at most ${MOST_CONDITIONS} items`,
          },
        ]
      : [];
  return [
    ...tooMany,
    ...matchConditions.flatMap(({ name, expression }, index) => {
      const twice = names.has(name) ? [duplicate(`${at}[${index}].name`, name)] : [];
      names.add(name);
      return [
        ...checkConditionName(name, `${at}[${index}].name`),
        ...checkCondition(expression, `${at}[${index}].expression`),
        ...twice,
      ];
    }),
  ];
}

function checkConditionName(name: string | undefined, at: string): FieldError[] {
  return name ? qualifiedName(name).map((fault) => invalidValue(at, name, fault)) : [required(at)];
}

function checkCondition(expression: string | undefined, at: string): FieldError[] {
  if (!expression?.trim()) return [required(at)];
  const fault = checkExpression(expression, known, "bool");
  if (!fault) return [];
  return [invalidValue(at, expression, fault.isType ? fault.message : `compilation failed: ${fault.message}`)];
}

// Ingress: hosts, paths and what stands behind them.
import { isIP } from "node:net";
import { isMap, type JsonMap } from "../../apply/values.ts";
import type { FieldError } from "../../types.ts";
import { invalidValue, notSupported, required } from "../../field-errors.ts";
import { label1035Name, pathSegmentName, subdomainName } from "../../registry/names.ts";
import { listOf, mapOf, named, portName, portNumber, type Rule, textOf } from "./rule.ts";

const WILDCARD = /^\*\.[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
const WILDCARD_TEXT =
  "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist of lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character (e.g. '*.example.com', regex used for validation is '\\*\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const PATH_TYPES = ["Exact", "ImplementationSpecific", "Prefix"];
const NOT_IN_PATHS = ["//", "/./", "/../", "%2f", "%2F"];
const NOT_AT_END = ["/..", "/."];

export const ingressRules: Rule = (object) => {
  const spec = mapOf(object.spec);
  const { defaultBackend, ingressClassName } = spec;
  const rules = listOf(spec.rules);
  const isEmpty = rules.length === 0 && !isMap(defaultBackend);
  return [
    ...(isEmpty ? [invalidValue("spec", null, "either `defaultBackend` or `rules` must be specified")] : []),
    ...(isMap(defaultBackend) ? backendRules("spec.defaultBackend", defaultBackend) : []),
    ...listOf(spec.tls).flatMap((each, at) => tlsRules(`spec.tls[${at}]`, each)),
    ...rules.flatMap((each, at) => ruleRules(`spec.rules[${at}]`, each)),
    ...(typeof ingressClassName === "string"
      ? named("spec.ingressClassName", ingressClassName, subdomainName(ingressClassName, false))
      : []),
  ];
};

const hostName = (field: string, host: string): FieldError[] =>
  named(field, host, host.includes("*") ? (WILDCARD.test(host) ? [] : [WILDCARD_TEXT]) : subdomainName(host, false));

function tlsRules(at: string, { hosts, secretName }: JsonMap): FieldError[] {
  const names = Array.isArray(hosts) ? (hosts as unknown[]) : [];
  return [
    ...names.flatMap((host, index) => hostName(`${at}.hosts[${index}]`, textOf(host))),
    ...(secretName ? named(`${at}.secretName`, secretName, subdomainName(textOf(secretName), false)) : []),
  ];
}

function ruleRules(at: string, { host, http }: JsonMap): FieldError[] {
  const name = textOf(host);
  const faults = isIP(name)
    ? [invalidValue(`${at}.host`, name, "must be a DNS name, not an IP address")]
    : name === ""
      ? []
      : hostName(`${at}.host`, name);
  if (!isMap(http)) return faults;
  const paths = listOf(http.paths);
  return [
    ...faults,
    ...(paths.length === 0 ? [required(`${at}.http.paths`)] : []),
    ...paths.flatMap((path, index) => pathRules(`${at}.http.paths[${index}]`, path)),
  ];
}

function pathRules(at: string, { path: given, pathType, backend }: JsonMap): FieldError[] {
  if (pathType === undefined) return [required(`${at}.pathType`, "pathType must be specified")];
  const path = textOf(given);
  const rest = backendRules(`${at}.backend`, mapOf(backend));
  if (!PATH_TYPES.includes(textOf(pathType))) return [notSupported(`${at}.pathType`, pathType, PATH_TYPES), ...rest];
  const isFree = pathType === "ImplementationSpecific";
  const isAbsolute = path.startsWith("/") || (isFree && path === "");
  const faults = isAbsolute ? [] : [invalidValue(`${at}.path`, path, "must be an absolute path")];
  return [...faults, ...(isFree ? [] : named(`${at}.path`, path, sequences(path))), ...rest];
}

const sequences = (path: string): string[] => [
  ...NOT_IN_PATHS.filter((part) => path.includes(part)).map((part) => `must not contain '${part}'`),
  ...NOT_AT_END.filter((part) => path.endsWith(part)).map((part) => `cannot end with '${part}'`),
];

function backendRules(at: string, { service, resource }: JsonMap): FieldError[] {
  if (isMap(service) && isMap(resource)) return [invalidValue(at, "", "cannot set both resource and service backends")];
  if (isMap(resource)) return resourceRules(`${at}.resource`, resource);
  return isMap(service)
    ? serviceBackendRules(at, service)
    : [invalidValue(at, "", "resource or service backend is required")];
}

function resourceRules(at: string, resource: JsonMap): FieldError[] {
  const group = resource.apiGroup;
  const segments = (["kind", "name"] as const).flatMap((field) => {
    const value = textOf(resource[field]);
    return value === "" ? [required(`${at}.${field}`)] : named(`${at}.${field}`, value, pathSegmentName(value, false));
  });
  return [...(group ? named(`${at}.apiGroup`, group, subdomainName(textOf(group), false)) : []), ...segments];
}

function serviceBackendRules(at: string, service: JsonMap): FieldError[] {
  const name = textOf(service.name);
  return [
    ...(name === "" ? [required(`${at}.service.name`)] : named(`${at}.service.name`, name, label1035Name(name, false))),
    ...backendPort(at, mapOf(service.port)),
  ];
}

function backendPort(at: string, { name, number }: JsonMap): FieldError[] {
  if (name && number) return [invalidValue(at, "", "cannot set both port name & port number")];
  if (name) return named(`${at}.service.port.name`, name, portName(textOf(name)));
  return number ? portNumber(`${at}.service.port.number`, number) : [required(at, "port name or number is required")];
}

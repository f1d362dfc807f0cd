// A container of a pod: its image, environment, ports, probes and mounts.
import { isMap, type JsonMap } from "../../apply/values.ts";
import type { FieldError } from "../../types.ts";
import { duplicate, forbiddenField, invalidValue, notFoundValue, notSupported, required } from "../../field-errors.ts";
import { labelName, subdomainName } from "../../registry/names.ts";
import {
  listOf,
  mapOf,
  named,
  notNegative,
  portName,
  portNumber,
  portNumberOrName,
  textOf,
  uniqueName,
} from "./rule.ts";
import { configKey } from "./data.ts";

/** State that a container shares with the others of its pod. */
export interface Surroundings {
  /** Taken by containers before it; grows. */
  names: Set<string>;
  /** Volumes that may be mounted. */
  volumes: ReadonlySet<string>;
}

const PULL_POLICIES = ["Always", "IfNotPresent", "Never"];
const VARIABLE = /^[ -<>-~]+$/;
const VARIABLE_TEXT =
  "a valid environment variable name must consist only of printable ASCII characters other than '='";
const HANDLERS = ["exec", "httpGet", "tcpSocket", "grpc"] as const;

export function containerRules(container: JsonMap, at: string, { names, volumes }: Surroundings): FieldError[] {
  return [
    ...uniqueName(`${at}.name`, textOf(container.name), { form: (name) => labelName(name, false), taken: names }),
    ...(container.image ? [] : [required(`${at}.image`)]),
    ...(PULL_POLICIES.includes(textOf(container.imagePullPolicy))
      ? []
      : [notSupported(`${at}.imagePullPolicy`, container.imagePullPolicy, PULL_POLICIES)]),
    ...listOf(container.env).flatMap((each, index) => variableRules(each, `${at}.env[${index}]`)),
    ...portsRules(listOf(container.ports), `${at}.ports`),
    ...["livenessProbe", "readinessProbe", "startupProbe"].flatMap((probe) =>
      probeRules(container[probe], `${at}.${probe}`),
    ),
    ...mountRules(listOf(container.volumeMounts), `${at}.volumeMounts`, volumes),
  ];
}

function variableRules({ name: given, value, valueFrom }: JsonMap, at: string): FieldError[] {
  const name = textOf(given);
  const faults =
    name === ""
      ? [required(`${at}.name`)]
      : VARIABLE.test(name)
        ? []
        : [invalidValue(`${at}.name`, name, VARIABLE_TEXT)];
  return isMap(valueFrom) ? [...faults, ...sourceRules(valueFrom, value, `${at}.valueFrom`)] : faults;
}

function sourceRules(source: JsonMap, value: unknown, at: string): FieldError[] {
  const field = isMap(source.fieldRef) && !source.fieldRef.fieldPath ? [required(`${at}.fieldRef.fieldPath`)] : [];
  const refs = [
    ...field,
    ...["configMapKeyRef", "secretKeyRef"].flatMap((kind) =>
      isMap(source[kind]) ? keyRefRules(source[kind], `${at}.${kind}`) : [],
    ),
  ];
  const count = Object.values(source).filter(isMap).length;
  if (count === 0)
    return [
      ...refs,
      invalidValue(at, "", "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef` or `secretKeyRef`"),
    ];
  if (value) return [...refs, invalidValue(at, "", "may not be specified when `value` is not empty")];
  return count > 1 ? [...refs, invalidValue(at, "", "may not have more than one field specified at a time")] : refs;
}

function keyRefRules(ref: JsonMap, at: string): FieldError[] {
  const [name, key] = [textOf(ref.name), textOf(ref.key)];
  return [
    ...named(`${at}.name`, name, subdomainName(name, false)),
    ...(key === "" ? [required(`${at}.key`)] : named(`${at}.key`, key, configKey(key))),
  ];
}

function portsRules(ports: JsonMap[], at: string): FieldError[] {
  const names = new Set<string>();
  return ports.flatMap((port, index) => [
    ...portNameRules(`${at}[${index}].name`, textOf(port.name), names),
    ...(port.containerPort
      ? portNumber(`${at}[${index}].containerPort`, port.containerPort)
      : [required(`${at}[${index}].containerPort`)]),
    ...(port.hostPort ? portNumber(`${at}[${index}].hostPort`, port.hostPort) : []),
    ...(["TCP", "UDP", "SCTP"].includes(textOf(port.protocol))
      ? []
      : [notSupported(`${at}[${index}].protocol`, port.protocol, ["SCTP", "TCP", "UDP"])]),
  ]);
}

function portNameRules(field: string, name: string, names: Set<string>): FieldError[] {
  if (name === "") return [];
  const faults = named(field, name, portName(name));
  if (faults.length === 0 && names.has(name)) return [duplicate(field, name)];
  names.add(name);
  return faults;
}

function probeRules(probe: unknown, at: string): FieldError[] {
  if (!isMap(probe)) return [];
  const counts = [
    "initialDelaySeconds",
    "timeoutSeconds",
    "periodSeconds",
    "successThreshold",
    "failureThreshold",
  ].flatMap((field) => notNegative(`${at}.${field}`, probe[field]));
  const succeedsOnce = at.endsWith(".readinessProbe") || probe.successThreshold === 1;
  return [
    ...handlerRules(probe, at),
    ...counts,
    ...(succeedsOnce ? [] : [invalidValue(`${at}.successThreshold`, probe.successThreshold, "must be 1")]),
    ...graceRules(`${at}.terminationGracePeriodSeconds`, probe.terminationGracePeriodSeconds),
  ];
}

/** A readiness probe never ends a container. */
function graceRules(at: string, seconds: unknown): FieldError[] {
  if (typeof seconds !== "number") return [];
  if (at.includes(".readinessProbe.")) return [invalidValue(at, seconds, "must not be set for readinessProbes")];
  return seconds > 0 ? [] : [invalidValue(at, seconds, "must be greater than 0")];
}

function handlerRules(probe: JsonMap, at: string): FieldError[] {
  const [first, ...others] = HANDLERS.filter((handler) => probe[handler] !== undefined);
  if (!first) return [required(at, "must specify a handler type")];
  return [
    ...handler(first, mapOf(probe[first]), `${at}.${first}`),
    ...others.map((each) => forbiddenField(`${at}.${each}`, "may not specify more than 1 handler type")),
  ];
}

function handler(kind: (typeof HANDLERS)[number], { command, port, path, scheme }: JsonMap, at: string): FieldError[] {
  switch (kind) {
    case "exec":
      return Array.isArray(command) && command.length > 0 ? [] : [required(`${at}.command`)];
    case "httpGet":
      return [
        ...(path ? [] : [required(`${at}.path`)]),
        ...portNumberOrName(`${at}.port`, port),
        ...(scheme === "HTTP" || scheme === "HTTPS" ? [] : [notSupported(`${at}.scheme`, scheme, ["HTTP", "HTTPS"])]),
      ];
    case "tcpSocket":
      return portNumberOrName(`${at}.port`, port);
    case "grpc":
      return portNumber(`${at}.port`, port);
  }
}

function mountRules(mounts: JsonMap[], at: string, volumes: ReadonlySet<string>): FieldError[] {
  const paths = new Set<string>();
  return mounts.flatMap((mount, index) => {
    const [name, path] = [textOf(mount.name), textOf(mount.mountPath)];
    const isTaken = paths.has(path);
    paths.add(path);
    return [
      ...(name === "" ? [required(`${at}[${index}].name`)] : []),
      ...(volumes.has(name) ? [] : [notFoundValue(`${at}[${index}].name`, name)]),
      ...(path === "" ? [required(`${at}[${index}].mountPath`)] : []),
      ...(isTaken ? [invalidValue(`${at}[${index}].mountPath`, path, "must be unique")] : []),
    ];
  });
}

// Service: ports, addresses, selectors. Load balancers, node ports, external addresses and the agreement of several addresses are not checked.
import { isIP } from "node:net";
import type { JsonMap } from "../../apply/values.ts";
import type { FieldError } from "../../types.ts";
import { duplicate, forbiddenField, invalidValue, notSupported, required } from "../../field-errors.ts";
import { labelName, qualifiedName, subdomainName } from "../../registry/names.ts";
import { labelRules, listOf, mapOf, named, portNumber, portNumberOrName, type Rule, textOf } from "./rule.ts";

const TYPES = ["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"];
const LONGEST_AFFINITY = 86_400;

/** Addresses are allocated before anything else is validated, even metadata. */
export const addressingRules: Rule = (object) => dualRules(mapOf(object.spec));

export const serviceRules: Rule = (object, old) => {
  const spec = mapOf(object.spec);
  const ports = listOf(spec.ports);
  const errors: FieldError[] = [];
  if (ports.length === 0 && spec.type !== "ExternalName" && primaryAddress(spec) !== "None")
    errors.push(required("spec.ports"));
  if (!TYPES.includes(textOf(spec.type))) errors.push(notSupported("spec.type", spec.type, TYPES));
  const before = mapOf(old?.spec);
  if (before.clusterIP && spec.clusterIP !== before.clusterIP && spec.type !== "ExternalName")
    errors.push(invalidValue("spec.clusterIPs[0]", [spec.clusterIP ?? ""], "may not change once set"));
  return [
    ...errors,
    ...portsRules(spec, ports),
    ...labelRules(spec.selector, "spec.selector"),
    ...affinityRules(spec),
    ...addressRules(spec),
    ...familyRules(spec),
  ];
};

const addressesOf = ({ clusterIPs }: JsonMap): unknown[] =>
  Array.isArray(clusterIPs) ? (clusterIPs as unknown[]) : [];
const primaryAddress = (spec: JsonMap): string => textOf(addressesOf(spec)[0]);

function addressRules(spec: JsonMap): FieldError[] {
  if (spec.type === "ExternalName") return externalRules(spec);
  const address = primaryAddress(spec);
  if (spec.clusterIP && address === "") return [required("spec.clusterIPs")];
  if (address === "None")
    return spec.type === "ClusterIP"
      ? []
      : [invalidValue("spec.clusterIPs[0]", "None", `may not be set to 'None' for ${textOf(spec.type)} services`)];
  return address === "" || isIP(address) !== 0
    ? []
    : [invalidValue("spec.clusterIPs[0]", address, "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)")];
}

function externalRules(spec: JsonMap): FieldError[] {
  const name = textOf(spec.externalName).replace(/\.$/, "");
  const given = [
    ...(addressesOf(spec).length > 0 ? ["clusterIPs"] : []),
    ...["ipFamilies", "ipFamilyPolicy"].filter((field) => spec[field] !== undefined),
  ];
  return [
    ...given.map((field) => forbiddenField(`spec.${field}`, "may not be set for ExternalName services")),
    ...(name === "" ? [required("spec.externalName")] : named("spec.externalName", name, subdomainName(name, false))),
  ];
}

function familyRules({ ipFamilies, ipFamilyPolicy, internalTrafficPolicy, type }: JsonMap): FieldError[] {
  const families = Array.isArray(ipFamilies) ? (ipFamilies as unknown[]) : [];
  return [
    ...families.flatMap((family, at) =>
      family === "IPv4" || family === "IPv6" ? [] : [notSupported(`spec.ipFamilies[${at}]`, family, ["IPv4", "IPv6"])],
    ),
    ...(ipFamilyPolicy === undefined ||
    ["PreferDualStack", "RequireDualStack", "SingleStack"].includes(textOf(ipFamilyPolicy))
      ? []
      : [notSupported("spec.ipFamilyPolicy", ipFamilyPolicy, ["PreferDualStack", "RequireDualStack", "SingleStack"])]),
    ...(type === "ExternalName" || ["Cluster", "Local"].includes(textOf(internalTrafficPolicy))
      ? []
      : [notSupported("spec.internalTrafficPolicy", internalTrafficPolicy, ["Cluster", "Local"])]),
  ];
}

/** Only a headless Service may have both families. */
function dualRules({ type, clusterIP, selector, ipFamilies, ipFamilyPolicy }: JsonMap): FieldError[] {
  if (type === "ExternalName" || (clusterIP === "None" && selector === undefined)) return [];
  const families = Array.isArray(ipFamilies) ? (ipFamilies as unknown[]) : [];
  const policy =
    ipFamilyPolicy === "RequireDualStack"
      ? [invalidValue("spec.ipFamilyPolicy", ipFamilyPolicy, "this cluster is not configured for dual-stack services")]
      : [];
  return [
    ...policy,
    ...families.flatMap((family, at) =>
      family === "IPv6" ? [invalidValue(`spec.ipFamilies[${at}]`, family, "not configured on this cluster")] : [],
    ),
  ];
}

function affinityRules({ sessionAffinity, sessionAffinityConfig }: JsonMap): FieldError[] {
  if (sessionAffinity !== "ClientIP" && sessionAffinity !== "None")
    return [notSupported("spec.sessionAffinity", sessionAffinity, ["ClientIP", "None"])];
  const { timeoutSeconds } = mapOf(mapOf(sessionAffinityConfig).clientIP);
  const isGood = typeof timeoutSeconds !== "number" || (timeoutSeconds > 0 && timeoutSeconds <= LONGEST_AFFINITY);
  return isGood
    ? []
    : [
        invalidValue(
          "spec.sessionAffinityConfig.clientIP.timeoutSeconds",
          timeoutSeconds,
          `must be greater than 0 and less than ${LONGEST_AFFINITY}`,
        ),
      ];
}

function portsRules(spec: JsonMap, ports: JsonMap[]): FieldError[] {
  const names = new Set<string>();
  const pairs = new Set<string>();
  return ports.flatMap((port, index) => {
    const at = `spec.ports[${index}]`;
    const pair = `${String(port.protocol)} ${String(port.port ?? 0)}`;
    const isTwice = pairs.has(pair);
    pairs.add(pair);
    return [
      ...nameRules(`${at}.name`, textOf(port.name), { names, isNeeded: ports.length > 1 }),
      ...portRules(at, port, spec),
      ...(isTwice
        ? [
            duplicate(at, {
              Name: "",
              Protocol: port.protocol,
              AppProtocol: null,
              Port: port.port ?? 0,
              TargetPort: 0,
              NodePort: 0,
            }),
          ]
        : []),
    ];
  });
}

function nameRules(
  field: string,
  name: string,
  { names, isNeeded }: { names: Set<string>; isNeeded: boolean },
): FieldError[] {
  if (name === "") return isNeeded ? [required(field)] : [];
  const isTaken = names.has(name);
  names.add(name);
  return [...named(field, name, labelName(name, false)), ...(isTaken ? [duplicate(field, name)] : [])];
}

function portRules(at: string, port: JsonMap, spec: JsonMap): FieldError[] {
  return [
    ...portNumber(`${at}.port`, port.port),
    ...(["TCP", "UDP", "SCTP"].includes(textOf(port.protocol))
      ? []
      : [notSupported(`${at}.protocol`, port.protocol, ["SCTP", "TCP", "UDP"])]),
    ...portNumberOrName(`${at}.targetPort`, port.targetPort),
    ...(typeof port.appProtocol === "string"
      ? named(`${at}.appProtocol`, port.appProtocol, qualifiedName(port.appProtocol))
      : []),
    ...(port.nodePort && spec.type === "ClusterIP"
      ? [forbiddenField(`${at}.nodePort`, "may not be used when `type` is 'ClusterIP'")]
      : []),
  ];
}

// Reports of load balancers in the status of a Service or an Ingress: addresses and names.
import { isIP } from "node:net";
import type { JsonMap } from "../../apply/values.ts";
import type { FieldError } from "../../types.ts";
import { forbiddenField, invalidValue, notSupported, required } from "../../field-errors.ts";
import { subdomainName } from "../../registry/names.ts";
import { listOf, mapOf, named, type Rule, textOf } from "./rule.ts";

const AT = "status.loadBalancer.ingress";
const IP_MODES = ["Proxy", "VIP"];

const placesOf = (status: unknown): JsonMap[] => listOf(mapOf(mapOf(status).loadBalancer).ingress);

export const ingressStatusRules: Rule = ({ status }) =>
  placesOf(status).flatMap((place, index) => placeRules(`${AT}[${index}]`, place));

export const serviceStatusRules: Rule = ({ spec, status }) => {
  const places = placesOf(status);
  if (mapOf(spec).type !== "LoadBalancer")
    return places.length > 0 ? [forbiddenField(AT, "may only be used when `spec.type` is 'LoadBalancer'")] : [];
  return places.flatMap((place, index) => [
    ...placeRules(`${AT}[${index}]`, place),
    ...modeRules(`${AT}[${index}].ipMode`, place),
  ]);
};

function placeRules(at: string, place: JsonMap): FieldError[] {
  const [ip, hostname] = [textOf(place.ip), textOf(place.hostname)];
  return [
    ...(ip === "" || isAddress(ip)
      ? []
      : [invalidValue(`${at}.ip`, ip, "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)")]),
    ...(hostname === "" ? [] : named(`${at}.hostname`, hostname, subdomainName(hostname, false))),
    ...(isAddress(hostname) ? [invalidValue(`${at}.hostname`, hostname, "must be a DNS name, not an IP address")] : []),
  ];
}

function modeRules(field: string, { ip, ipMode }: JsonMap): FieldError[] {
  if (ipMode === undefined) return ip ? [required(field, "must be specified when `ip` is set")] : [];
  if (!ip) return [forbiddenField(field, "may not be specified when `ip` is not set")];
  return IP_MODES.includes(textOf(ipMode)) ? [] : [notSupported(field, ipMode, IP_MODES)];
}

/** Leading zeros are allowed here for compatibility; zones are not. */
const isAddress = (text: string): boolean =>
  !text.includes("%") && isIP(text.replaceAll(/(?<=^|\.)0+(?=\d)/g, "")) !== 0;

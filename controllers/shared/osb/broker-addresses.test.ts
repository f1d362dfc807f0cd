// The addresses that brokers of spaces may have, and who is asked at all.
import { expect, test } from "vitest";
import { Domain } from "../../../crds/domain/domain.ts";
import type { ResourceRef } from "../../../kube/api/resource-ref.ts";
import type { Reader } from "../../../kube/cache/reader.ts";
import { parseNetworkSettings } from "../network-settings.ts";
import { addressRuleOf, toAddressRule } from "./broker-addresses.ts";

test.each<[string, boolean, Record<string, string>?]>([
  ["203.0.113.7", true],
  ["2001:db8::7", true],
  ["10.0.0.1", false],
  ["169.254.169.254", false],
  ["::ffff:169.254.169.254", false],
  ["::ffff:a9fe:a9fe", false],
  ["0:0:0:0:0:ffff:7f00:1", false],
  ["127.0.0.1", false],
  ["0.0.0.0", false],
  ["::", false],
  ["::1", false],
  ["fd00::1", false],
  ["fe80::1", false],
  ["64:ff9b::a9fe:a9fe", false],
  ["224.0.0.1", false],
  ["not an address", false],
  ["10.0.0.1", true, { "broker-egress-cidrs": "10.0.0.0/24" }],
  ["127.0.0.1", true, { "broker-egress-cidrs": "127.0.0.1/32" }],
  ["10.1.2.3", true, { "router-cidrs": "10.1.2.3/32" }],
  ["127.0.0.1", false, { "egress-except": "" }],
  ["203.0.113.7", false, { "egress-cidrs": "" }],
])("%s is open: %s, with %j", (address, isOpen, settings = {}) =>
  expect(toAddressRule(parseNetworkSettings(settings))(address)).toBe(isOpen),
);

const reader = (data?: Record<string, string>): Reader =>
  ({
    find: () => data && { data },
    list: ({ kind }: ResourceRef) =>
      kind === Domain.kind
        ? [{ spec: { name: "apps.example" } }, { spec: { name: "apps.internal", internal: true } }]
        : [],
  }) as unknown as Reader;

test.each<[string, string, boolean, Record<string, string>?]>([
  ["cupola-system", "http://10.0.0.1", false],
  ["acme-dev", "http://broker.apps.example", false],
  ["acme-dev", "http://apps.example", true],
  ["acme-dev", "http://evilapps.example", true],
  ["acme-dev", "http://broker.apps.example.evil.test", true],
  ["acme-dev", "http://broker.apps.internal", true],
  ["acme-dev", "http://10.0.0.1", true],
  ["acme-dev", "http://10.0.0.1", false, { isolation: "off" }],
  ["acme-dev", "http://10.0.0.1", true, { isolation: "of", nonsense: "x" }],
])("in %s %s is asked: %s, with %j", (namespace, url, isAsked, data) =>
  expect(addressRuleOf(url, namespace, reader(data)) !== undefined).toBe(isAsked),
);

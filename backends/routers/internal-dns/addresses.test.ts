// The addresses of a route are computed again only when its binding or an LRP has changed.
import { expect, test } from "vitest";
import type { LRP } from "../../../crds/lrp/lrp.ts";
import type { RouteBinding } from "../../../crds/route-binding/route-binding.ts";
import { rememberAddresses } from "./addresses.ts";
import { TYPE_A, TYPE_AAAA, TYPE_ANY } from "./dns-message.ts";

const toLRP = (...hosts: string[]): LRP =>
  ({
    metadata: {},
    spec: { instances: 2 },
    status: { instances: hosts.map((host, index) => ({ index, host, state: "Running", ready: true })) },
  }) as unknown as LRP;
const binding = { spec: {} } as RouteBinding;

test("by type, sorted, each once", () => {
  const { all, byIndex } = rememberAddresses()(binding, [toLRP("10.0.0.2", "fd00::1"), toLRP("10.0.0.1", "10.0.0.2")]);
  expect(all.get(TYPE_A)).toEqual(["10.0.0.1", "10.0.0.2"]);
  expect(all.get(TYPE_AAAA)).toEqual(["fd00::1"]);
  expect(all.get(TYPE_ANY)).toHaveLength(3);
  expect(byIndex.get(1)?.get(TYPE_A)).toEqual(["10.0.0.2"]);
});

test("remembered as long as all LRPs are the same objects", () => {
  const addressesOf = rememberAddresses();
  const [first, second] = [toLRP("10.0.0.1"), toLRP("10.0.0.2")];
  const before = addressesOf(binding, [first, second]);
  expect(addressesOf(binding, [first, second])).toBe(before);
  expect(addressesOf(binding, [first]).all.get(TYPE_A)).toEqual(["10.0.0.1"]);
  expect(addressesOf(binding, [first, toLRP("10.0.0.3")]).all.get(TYPE_A)).toEqual(["10.0.0.1", "10.0.0.3"]);
  expect(addressesOf({ ...binding }, [second]).all.get(TYPE_A)).toEqual(["10.0.0.2"]);
});

// The class for internal names is that of internal domains alone, and only where nobody named another one.
import { expect, test } from "vitest";
import type { Domain } from "../domain/domain.ts";
import type { BackendClass } from "./backend-class.ts";
import { routerOf } from "./choose-router.ts";

const aClass = (name: string, role = "router"): BackendClass =>
  ({ metadata: { name }, spec: { role } }) as unknown as BackendClass;
const both = [aClass("ingress"), aClass("internal-dns")];

test.each<[string, Partial<Domain["spec"]>, BackendClass[], string | undefined]>([
  ["an internal domain", { internal: true }, both, "internal-dns"],
  ["an internal domain that names a router", { internal: true, router: "gateway" }, both, "gateway"],
  ["an internal domain where the cluster has no such class", { internal: true }, [aClass("ingress")], undefined],
  ["where the class has another role", { internal: true }, [aClass("internal-dns", "runner")], undefined],
  ["a domain for all", { internal: false }, both, undefined],
  ["a domain for all that names a router", { internal: false, router: "gateway" }, both, "gateway"],
])("%s", (_what, spec, classes, expected) => {
  expect(routerOf({ spec: spec as Domain["spec"] }, classes)).toBe(expected);
});

// A question is declared by the row that asks it, by the rule for writes, or because it is a plain get.
import { expect, test } from "vitest";
import { App } from "../../crds/app/app.ts";
import { Org } from "../../crds/org/org.ts";
import { Route } from "../../crds/route/route.ts";
import { Space } from "../../crds/space/space.ts";
import { declaredPermissions, isDeclared, newlyUndeclared } from "./declared-permissions.ts";

const rowOf = (method: string) => ({
  method,
  path: "/v3/apps/:guid",
  permission: { verb: "delete", on: App } as const,
  asks: [{ verb: "get", on: App, subresource: "secrets" }] as const,
});

test.each([
  ["its permission", { verb: "delete", on: App }, true],
  ["what it asks besides", { verb: "get", on: App, subresource: "secrets" }, true],
  ["a get of any kind", { verb: "get", on: Route }, true],
  ["suspension, as of every write", { verb: "update", on: Space, subresource: "limits" }, true],
  ["whether the caller is an admin, as of every write", { verb: "update", on: Org }, true],
  ["the same verb on another kind", { verb: "delete", on: Route }, false],
  ["another subresource", { verb: "get", on: App, subresource: "env" }, false],
  ["the kind where only a subresource is declared", { verb: "update", on: Space }, false],
] as const)("%s", (_what, asked, expected) => {
  expect(isDeclared(declaredPermissions(rowOf("DELETE")), asked)).toBe(expected);
});

test("a read declares for itself that it asks for an admin", () => {
  expect(isDeclared(declaredPermissions(rowOf("GET")), { verb: "update", on: Org })).toBe(false);
});

test("each undeclared question of an endpoint is named once", () => {
  const declared = declaredPermissions(rowOf("DELETE"));
  const ask = (): string | undefined => newlyUndeclared(declared, { verb: "patch", on: Route, name: "one" });
  expect([ask(), ask()]).toEqual(["patch routes in cupola.dev", undefined]);
});

// Whom a user without the role asks, and for what.
import { expect, test } from "vitest";
import type { ApiClient } from "./api/client.ts";
import { contextFor, type Context } from "./context.ts";
import { Failure } from "./failure.ts";
import { withRole } from "./missing-role.ts";
import { silentProgress } from "./output.ts";

function contextOf(user = "ann"): Context {
  const api = { request: () => Promise.resolve({ name: user }) } as unknown as ApiClient;
  const target = { api: "http://api", org: { guid: "o", name: "acme" }, space: { guid: "s", name: "dev" } };
  return contextFor(target, api, silentProgress);
}

test.each([
  ["push", "POST", "/v3/spaces/s/actions/apply_manifest", "dev: cf set-space-role ann acme dev SpaceDeveloper"],
  ["scale", "POST", "/v3/apps/a/processes/web/actions/scale", "dev: cf set-space-role ann acme dev SpaceDeveloper"],
  ["create-space", "POST", "/v3/spaces", "acme: cf set-org-role ann acme OrgManager"],
])("cup %s without the role: a manager grants it", async (_what, method, path, end) => {
  const refused = new Failure("You are not authorized", { refusal: { method, path, code: 10_003 } });
  const told = (await withRole(contextOf(), refused)) as Failure;
  expect(told.message).toBe("You are not authorized");
  expect(told.next).toContain(end);
});

test("a user's name is quoted for the shell", async () => {
  const refused = new Failure("no", { refusal: { method: "POST", path: "/v3/packages", code: 10_003 } });
  expect(((await withRole(contextOf("ann of x"), refused)) as Failure).next).toContain("'ann of x' acme dev");
});

test.each([
  ["another refusal", new Failure("no", { refusal: { method: "POST", path: "/v3/apps", code: 10_008 } })],
  ["what only an admin may", new Failure("no", { refusal: { method: "POST", path: "/v3/buildpacks", code: 10_003 } })],
  ["an error of its own", new Error("x")],
])("%s stays as it is", async (_what, error) => {
  expect(await withRole(contextOf(), error)).toBe(error);
});

// Names that completion reads from the platform.
import { expect, test } from "vitest";
import type { ApiClient } from "../api/client.ts";
import { readNames } from "./complete.ts";

test.each([
  ["app", "/v3/apps", { space_guids: "s" }],
  ["domain", "/v3/domains", {}],
  ["offering", "/v3/service_offerings", { space_guids: "s" }],
  ["service", "/v3/service_instances", { space_guids: "s" }],
  ["org", "/v3/organizations", {}],
  ["space", "/v3/spaces", { organization_guids: "o" }],
] as const)("names of each %s in their order", async (source, path, query) => {
  const asked: unknown[] = [];
  const request = (...request: unknown[]): Promise<object> => {
    asked.push(request);
    return Promise.resolve({ resources: [{ name: "b.test" }, { name: "a.test" }] });
  };
  const context = {
    api: { request } as unknown as ApiClient,
    org: () => Promise.resolve({ guid: "o", name: "acme" }),
    space: () => Promise.resolve({ guid: "s", name: "dev" }),
  };
  expect(await readNames(context, source)).toEqual(["a.test", "b.test"]);
  expect(asked).toEqual([["GET", path, { query: { per_page: "200", ...query }, deadlineMs: 2000 }]]);
});

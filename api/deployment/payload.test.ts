// Bodies of deployments that CF refuses.
import { expect, test } from "vitest";
import { createDeploymentBody } from "./payload.ts";

test.each<[unknown, string]>([
  ["blue-green", "Strategy 'blue-green' is not a supported deployment strategy"],
  [{ toString: 1 }, `Strategy '{"toString":1}' is not a supported deployment strategy`],
])("strategy %j", (strategy, message) => {
  expect(createDeploymentBody.safeParse({ strategy }).error?.issues.map((issue) => issue.message)).toEqual([message]);
});

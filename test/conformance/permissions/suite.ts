// Permissions at every door, on one server: fields, roles, namespaces, flags, suspension. Both servers' test files run it.
import { afterAll, beforeAll, describe } from "vitest";
import { fieldTests } from "./fields.ts";
import { flagTests } from "./flags.ts";
import { guidTests } from "./guids.ts";
import { imageTests } from "./images.ts";
import { lifetimeTests } from "./lifetimes.ts";
import { originTests } from "./origins.ts";
import { platformTests } from "./platform.ts";
import { restorerTests } from "./restorer.ts";
import { roleTests } from "./roles.ts";
import { routeSharingTests } from "./route-sharing.ts";
import { secretTests } from "./secrets.ts";
import { suspensionTests } from "./suspension.ts";
import { tenancyTests } from "./tenancy.ts";
import { startTestEnv, type GetTestEnv, type ServerUnderTest, type TestEnv } from "./test-env.ts";

export function permissionTests(server: ServerUnderTest): void {
  describe(`rights on ${server.name}`, () => {
    let testEnv: TestEnv | undefined;
    beforeAll(async () => {
      testEnv = await startTestEnv(server);
    }, 120_000);
    afterAll(() => testEnv?.stop());
    const get: GetTestEnv = () => {
      if (!testEnv) throw new Error("the world did not start");
      return testEnv;
    };
    fieldTests(get);
    roleTests(get);
    tenancyTests(get);
    imageTests(get);
    suspensionTests(get);
    flagTests(get);
    secretTests(get);
    routeSharingTests(get);
    guidTests(get);
    originTests(get);
    restorerTests(get);
    lifetimeTests(get);
    platformTests(get);
  });
}

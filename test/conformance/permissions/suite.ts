// Who may do what, at every door, on one server: fields, roles, namespaces, flags, suspension. Both servers' test files run it.
import { afterAll, beforeAll, describe } from "vitest";
import { fieldTests } from "./fields.ts";
import { flagTests } from "./flags.ts";
import { roleTests } from "./roles.ts";
import { secretTests } from "./secrets.ts";
import { suspensionTests } from "./suspension.ts";
import { tenancyTests } from "./tenancy.ts";
import { startWorld, type ServerUnderTest, type World } from "./test-env.ts";

/** What the parts of the suite get: the world, once it stands. */
export type Worldly = () => World;

export function rightsOn(server: ServerUnderTest): void {
  describe(`rights on ${server.name}`, () => {
    let world: World | undefined;
    beforeAll(async () => {
      world = await startWorld(server);
    }, 120_000);
    afterAll(() => world?.stop());
    const get: Worldly = () => {
      if (!world) throw new Error("the world did not start");
      return world;
    };
    fieldTests(get);
    roleTests(get);
    tenancyTests(get);
    suspensionTests(get);
    flagTests(get);
    secretTests(get);
  });
}

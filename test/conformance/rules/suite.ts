// Each rule of the CF API that decides whether an object may exist or serve, at both doors. The table in docs/security.md lists them.
import { afterAll, beforeAll, describe, test } from "vitest";
import type { ServerUnderTest } from "../permissions/test-env.ts";
import { RULE_ROWS } from "./rows.ts";
import { createRuleWorld, type RuleWorld } from "./world.ts";

export function ruleTests(server: ServerUnderTest): void {
  describe(`rules on ${server.name}`, () => {
    let world: RuleWorld | undefined;
    beforeAll(async () => {
      world = await createRuleWorld(server);
    }, 120_000);
    afterAll(() => world?.env.stop());
    test.each(RULE_ROWS.map((row) => [row.rule, row] as const))(
      "%s",
      async (_rule, row) => {
        if (!world) throw new Error("the world did not start");
        await row.shows(world);
      },
      120_000,
    );
  });
}

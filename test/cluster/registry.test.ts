// The tests' registry: it asks for credentials, keeps its data over a restart, and leaves nothing.
import { request } from "undici";
import { describe, expect, test } from "vitest";
import { REGISTRY_USER, startRegistry, whyNoRegistry } from "./registry.ts";

const reason = whyNoRegistry();

describe.skipIf(reason)("the tests' registry", () => {
  test("answers only its user, before and after a restart", async () => {
    const registry = await startRegistry();
    try {
      const ask = async (password: string): Promise<number> => {
        const authorization = `Basic ${Buffer.from(`${REGISTRY_USER.username}:${password}`).toString("base64")}`;
        const { statusCode, body } = await request(`http://${registry.host}/v2/`, { headers: { authorization } });
        await body.dump();
        return statusCode;
      };
      expect(await ask(REGISTRY_USER.password)).toBe(200);
      expect(await ask("wrong")).toBe(401);
      await registry.restart();
      expect(await ask(REGISTRY_USER.password)).toBe(200);
      await registry.kill();
      await expect(ask(REGISTRY_USER.password)).rejects.toThrow("ECONNREFUSED");
    } finally {
      await registry.stop();
    }
  });
});

if (reason) test.skip(`registry: skipped, ${reason}`, () => undefined);

// The probe's program at a real registry: it leaves no manifest there, whatever fails after the push.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createRegistryClient } from "../../../blobs/registry/registry-client.ts";
import { tryRegistry } from "../../../platform/probe/try-registry.ts";
import { REGISTRY_USER, whyNoRegistry } from "../../cluster/registry.ts";
import { failing } from "../blobs/fault-proxy.ts";
import { startProbedRegistry, type ProbedRegistry } from "./probed-registry.ts";

const reason = whyNoRegistry();
if (reason) console.log(`the probe of a registry: skipped, ${reason}`);

describe.skipIf(reason)("the probe of a registry", () => {
  const folder = mkdtempSync(join(tmpdir(), "cupola-probe-"));
  const credentialsFile = join(folder, ".dockerconfigjson");
  let registry: ProbedRegistry;
  beforeAll(async () => {
    registry = await startProbedRegistry();
    const auth = Buffer.from(`${REGISTRY_USER.username}:${REGISTRY_USER.password}`).toString("base64");
    writeFileSync(credentialsFile, JSON.stringify({ auths: { [registry.host]: { auth } } }));
  }, 600_000);
  afterAll(async () => {
    rmSync(folder, { recursive: true, force: true });
    await registry.stop();
  });

  const probe = (id: string) =>
    tryRegistry({
      settings: { prefix: { host: registry.host, path: "apps" }, credentialsFile, insecureHosts: [] },
      builderImage: undefined,
      id,
    });

  async function listTags(): Promise<readonly string[]> {
    registry.proxy.decide = () => undefined;
    const client = createRegistryClient({ credentials: () => Promise.resolve(REGISTRY_USER) });
    try {
      return await client.listTags({ host: registry.host, repository: "apps/cupola-probe" });
    } finally {
      await client.close();
    }
  }

  test.each([
    ["nothing", "none", /^$/, undefined],
    ["a pull", "GET", /\/blobs\/sha256/, "a pull"],
    ["a list", "GET", /\/tags\/list/, "a list"],
  ])("fails: %s", async (what, method, path, step) => {
    registry.proxy.decide = failing(method, path, { status: 403, body: "{}" }, Infinity);
    expect((await probe(what.replace(" ", "-"))).registry?.step).toBe(step);
    expect(await listTags()).toEqual([]);
  });
});

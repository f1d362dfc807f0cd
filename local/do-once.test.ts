// An action is done once for the data, not for the folder around it.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { SYSTEM_NAMESPACE } from "../crds/groups.ts";
import { Namespace } from "../kube/api/builtin.ts";
import { createClient } from "../kube/client/create-client.ts";
import { startApiServer } from "./apiserver/server.ts";
import { createDoOnce, type DoOnce } from "./do-once.ts";

async function withServer(dir: string, work: (doOnce: DoOnce) => Promise<void>): Promise<void> {
  const tokens = new Map([["root", { name: "root", groups: ["system:masters"] }]]);
  const server = await startApiServer({ dir, port: 0, host: "127.0.0.1", tokens });
  const client = createClient({ server: server.url, ca: server.ca, auth: { kind: "token", token: "root" } });
  const doOnce = createDoOnce(client);
  try {
    await doOnce("installed", "1", async () => {
      await client.create(Namespace, { metadata: { name: SYSTEM_NAMESPACE } });
    });
    await work(doOnce);
  } finally {
    await client.close();
    await server.stop();
  }
}

test("marks outlive a restart and go with the database", async () => {
  const dir = mkdtempSync(join(tmpdir(), "first-start-"));
  const done: string[] = [];
  const seed = async (doOnce: DoOnce): Promise<void> => {
    await doOnce("seeded", "true", () => Promise.resolve(done.push("seeded")));
    await doOnce("hello", "true", () => Promise.resolve(done.push("hello")));
  };
  await withServer(dir, seed);
  await withServer(dir, seed);
  expect(done).toEqual(["seeded", "hello"]);
  // The step that a damaged database names.
  rmSync(join(dir, "state.db"));
  await withServer(dir, seed);
  expect(done).toEqual(["seeded", "hello", "seeded", "hello"]);
  rmSync(dir, { recursive: true });
});

test("work that failed is done again, and so is work of another version", async () => {
  const dir = mkdtempSync(join(tmpdir(), "first-start-"));
  await withServer(dir, async (doOnce) => {
    await expect(doOnce("hello", "true", () => Promise.reject(new Error("no")))).rejects.toThrow("no");
    expect(await doOnce("hello", "true", () => Promise.resolve("done"))).toBe("done");
    expect(await doOnce("hello", "true", () => Promise.resolve("done"))).toBeUndefined();
    expect(await doOnce("installed", "2", () => Promise.resolve("upgraded"))).toBe("upgraded");
    expect(await doOnce("hello", "true", () => Promise.resolve("done"))).toBeUndefined();
  });
  rmSync(dir, { recursive: true });
});

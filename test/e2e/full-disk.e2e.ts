// A laptop whose disk is full: apps and reads are served, writes say why they are refused, and all of it ends when there is space again.
import { randomBytes } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { request } from "undici";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ZipFile } from "yazl";
import { runCommand } from "../../scripts/run-command.ts";
import { mountSmallDisk, whyNoSmallDisk, type SmallDisk } from "../../kube/testing/small-disk.ts";
import { apiAt, tokenOf, type Api, type CFErrors, type Named, type Page } from "./support/api.ts";
import { eventually } from "../eventually.ts";
import { startLaptopPlatform } from "./support/laptop-platform.ts";
import type { TestPlatform, TestPlatformBase } from "./support/test-platform.ts";

const CUP = join(import.meta.dirname, "..", "..", "cli", "cup.ts");
const PROGRAM = `require("http").createServer((_, answer) => answer.end("served")).listen(process.env.PORT);\n`;
/** Longer than a Lease lasts without a renewal. */
const OBSERVED_MS = 20_000;
const FULL = "The disk of CUPOLA_HOME is full: nothing was stored. Free some space, then try again.";

const reason = whyNoSmallDisk();
if (reason) console.log(`full disk skipped: ${reason}`);

describe.skipIf(reason)("a full disk", () => {
  let disk: SmallDisk;
  let laptop: TestPlatformBase;
  let api: Api;
  let space: Named;

  async function cup(...args: string[]): Promise<void> {
    const { code, output } = await runCommand([process.execPath, CUP, ...args], {
      cwd: laptop.home,
      deadlineMs: 90_000,
      env: { CUPOLA_HOME: laptop.home, CUP_HOME: join(laptop.home, "cup"), NO_COLOR: "1" },
    });
    expect(code, output).toBe(0);
  }

  const get = async (path: string) => {
    const answer = await fetch(`${laptop.url}${path}`, { signal: AbortSignal.timeout(5_000) });
    return { status: answer.status, text: await answer.text() };
  };

  const getApp = async () =>
    (await request(laptop.url, { headers: { host: "hello.apps.localhost" }, headersTimeout: 5_000 })).body.text();

  /** Large, so that it does not fit into what SQLite has allocated before. */
  const createApp = (name: string) =>
    api.send("POST", "/v3/apps", {
      name,
      relationships: { space: { data: { guid: space.guid } } },
      metadata: { annotations: Object.fromEntries(Array.from({ length: 40 }, (_, i) => [`a${i}`, "x".repeat(4_000)])) },
    });

  async function upload(guid: string): Promise<{ status: number; text: string }> {
    const zip = new ZipFile();
    zip.addBuffer(randomBytes(200_000), "index.js");
    zip.end();
    const form = new FormData();
    form.set("bits", new Blob([await buffer(zip.outputStream as Readable)]), "bits.zip");
    const answer = await fetch(`${laptop.url}/v3/packages/${guid}/upload`, {
      method: "POST",
      headers: { authorization: `bearer ${tokenOf(laptop as TestPlatform, "admin")}` },
      body: form,
    });
    return { status: answer.status, text: await answer.text() };
  }

  const detailOf = ({ text }: { text: string }) => (JSON.parse(text) as Partial<CFErrors>).errors?.[0]?.detail;

  beforeAll(async () => {
    disk = mountSmallDisk(96);
    laptop = await startLaptopPlatform(disk.dir);
    api = apiAt(laptop.url, tokenOf(laptop as TestPlatform, "admin"));
    const source = join(laptop.home, "source");
    mkdirSync(source);
    writeFileSync(join(source, "index.js"), PROGRAM);
    writeFileSync(join(source, "Procfile"), "web: node index.js\n");
    await cup("push", "hello", "--path", source, "-m", "64M", "--no-manifest");
    [space] = (await api.call<Page<Named>>("GET", "/v3/spaces")).resources as [Named];
  }, 180_000);
  afterAll(async () => {
    await laptop?.stop();
    disk?.unmount();
  });

  test("serves apps and reads, refuses writes in words, and recovers by itself", async () => {
    const [app] = (await api.call<Page<Named>>("GET", "/v3/apps")).resources as [Named];
    const relationships = { app: { data: { guid: app.guid } } };
    const { guid } = await api.call("POST", "/v3/packages", { type: "bits", relationships });
    const pids = laptop.pids();

    disk.fill();
    const deadline = Date.now() + OBSERVED_MS;
    let refusals = 0;
    for (let round = 0; Date.now() < deadline; round++) {
      expect(await get("/livez")).toMatchObject({ status: 200 });
      expect(await get("/readyz")).toMatchObject({
        status: 200,
        text: expect.stringMatching(/degraded: disk: the disk of .* is full: writes are refused/) as string,
      });
      expect((await api.send("GET", "/v3/apps")).status).toBe(200);
      expect(await getApp()).toBe("served");
      const created = await createApp(`refused-${round}`);
      if (created.status !== 201) {
        expect([created.status, detailOf(created)]).toEqual([503, FULL]);
        refusals++;
      }
      const uploaded = await upload(guid);
      expect([uploaded.status, detailOf(uploaded)]).toEqual([503, FULL]);
    }
    expect(refusals).toBeGreaterThan(10);

    disk.free();
    await eventually(async () => expect((await createApp("accepted")).status).toBe(201));
    await eventually(async () => expect((await upload(guid)).status).toBe(200));
    expect((await get("/readyz")).text).not.toContain("disk");
    expect(await getApp()).toBe("served");
    expect(laptop.pids()).toEqual(pids);
  });
});

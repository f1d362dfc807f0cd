// Packages and builds: uploads, downloads, images, and what becomes of them.
import { createHash, randomBytes } from "node:crypto";
import { deflateRawSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type ApiHarness, fault, startApiHarness, to } from "./harness.ts";
import { shapeProblems } from "./response-shape.ts";
import type { Answer } from "./test-env.ts";

let bench: ApiHarness;
let org: { guid: string };
let space: { guid: string };
beforeAll(async () => {
  bench = await startApiHarness();
  org = await bench.org("org");
  space = await bench.space(org, "space");
});
afterAll(() => bench.testEnv.stop());

/** A zip of the given entries, deflated; nothing is checked, so that bad ones can be made. */
function zip(entries: { name: string; content: string; mode?: number; size?: number }[]): Buffer {
  const locals: Buffer[] = [];
  const central: Buffer[] = [];
  let offset = 0;
  for (const { name, content, mode = 0o100644, size } of entries) {
    const data = deflateRawSync(content);
    const names = Buffer.from(name);
    const head = Buffer.alloc(26);
    head.writeUInt16LE(20, 0);
    head.writeUInt16LE(0x800, 2);
    head.writeUInt16LE(8, 4);
    head.writeUInt32LE(crc32(Buffer.from(content)), 10);
    head.writeUInt32LE(data.length, 14);
    head.writeUInt32LE(size ?? Buffer.byteLength(content), 18);
    head.writeUInt16LE(names.length, 22);
    const local = Buffer.concat([Buffer.from("PK\u0003\u0004", "latin1"), head, names, data]);
    const tail = Buffer.alloc(14);
    tail.writeUInt32LE((mode << 16) >>> 0, 6);
    tail.writeUInt32LE(offset, 10);
    central.push(Buffer.concat([Buffer.from("PK\u0001\u0002", "latin1"), Buffer.from([20, 3]), head, tail, names]));
    locals.push(local);
    offset += local.length;
  }
  const directory = Buffer.concat(central);
  const end = Buffer.alloc(22);
  end.write("PK\u0005\u0006", 0, "latin1");
  end.writeUInt16LE(entries.length, 8);
  end.writeUInt16LE(entries.length, 10);
  end.writeUInt32LE(directory.length, 12);
  end.writeUInt32LE(offset, 16);
  return Buffer.concat([...locals, directory, end]);
}

function crc32(bytes: Buffer): number {
  let crc = ~0;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0);
  }
  return ~crc >>> 0;
}

/** The same zip with another CRC in its directory. */
function damaged(bytes: Buffer): Buffer {
  bytes.writeUInt32LE(1, bytes.indexOf(Buffer.from("PK\u0001\u0002", "latin1")) + 16);
  return bytes;
}

describe("packages and builds", () => {
  let app: { guid: string };
  beforeAll(async () => {
    app = await bench.app(space, "packed");
  });
  const bits = (): Promise<{ guid: string }> =>
    bench.make("/v3/packages", { type: "bits", relationships: { app: to(app) } });
  async function upload(guid: string, parts: Record<string, string | Buffer>): Promise<Answer> {
    const form = new FormData();
    for (const [name, part] of Object.entries(parts)) {
      if (typeof part === "string") form.set(name, part);
      else form.set(name, new Blob([new Uint8Array(part)]), "bits.zip");
    }
    const response = new Response(form);
    return bench.testEnv.replicas[0].send("POST", `/v3/packages/${guid}/upload`, {
      body: new Uint8Array(await response.arrayBuffer()),
      headers: { authorization: "bearer admin-token", "content-type": response.headers.get("content-type") ?? "" },
    });
  }

  test("bits are uploaded once, become ready and come back", async () => {
    const made = await bits();
    expect(shapeProblems("package", made)).toEqual([]);
    expect(made).toMatchObject({
      type: "bits",
      state: "AWAITING_UPLOAD",
      data: { error: null, checksum: { type: "sha256", value: null } },
    });
    expect((await bench.call("GET", `/v3/packages/${made.guid}/download`)).status).toBe(422);
    expect(fault(await bench.call("POST", "/v3/builds", { package: made }))[0]).toBe(422);
    expect(fault(await bench.call("POST", "/v3/builds", { package: { guid: made.guid } }))).toEqual([
      400,
      "CF-BadRequest",
      "Bad request: Cannot stage package whose state is not ready.",
    ]);
    const uploaded = await upload(made.guid, { bits: zip([{ name: "index.js", content: "x" }]) });
    expect([uploaded.status, uploaded.json.errors, uploaded.json.guid]).toEqual([200, undefined, made.guid]);
    await expect
      .poll(async () => (await bench.read(`/v3/packages/${made.guid}`)).state, { timeout: 5000, interval: 20 })
      .toBe("READY");
    expect(fault(await upload(made.guid, { bits: zip([{ name: "b", content: "y" }]) })).slice(0, 2)).toEqual([
      400,
      "CF-PackageBitsAlreadyUploaded",
    ]);
    const download = await bench.call("GET", `/v3/packages/${made.guid}/download`);
    expect([download.status, download.headers.get("content-type"), download.text.slice(0, 4)]).toEqual([
      200,
      "application/zip",
      "PK\u0003\u0004",
    ]);
    expect(await bench.column(`/v3/apps/${app.guid}/packages?states=READY`, "guid")).toEqual([made.guid]);
    const build = await bench.make("/v3/builds", { package: { guid: made.guid }, metadata: { labels: { a: "b" } } });
    expect(shapeProblems("build", build)).toEqual([]);
    expect([build.state, build.package, build.droplet, build.created_by.name]).toEqual([
      "STAGING",
      { guid: made.guid },
      null,
      "admin",
    ]);
    expect(fault(await bench.call("POST", "/v3/builds", { package: { guid: made.guid } }))).toEqual([
      422,
      "CF-StagingInProgress",
      "Only one build can be STAGING at a time per application.",
    ]);
    expect(await bench.column(`/v3/builds?package_guids=${made.guid}&states=STAGING`, "guid")).toEqual([build.guid]);
    expect(await bench.column(`/v3/apps/${app.guid}/builds`, "guid")).toEqual([build.guid]);
    expect(
      (await bench.call("PATCH", `/v3/builds/${build.guid}`, { metadata: { labels: { a: null } } })).json.metadata
        .labels,
    ).toEqual({});
    expect((await bench.job(await bench.call("DELETE", `/v3/packages/${made.guid}`))).operation).toBe("package.delete");
    expect((await bench.call("GET", `/v3/packages/${made.guid}`)).status).toBe(404);
  });

  test("a download has the stored length, not the claimed one, and a missing blob is a CF error", async () => {
    const made = await bits();
    await upload(made.guid, { bits: zip([{ name: "index.js", content: "x" }]) });
    const texts: string[] = [];
    const digest = `sha256:${(await bench.read(`/v3/packages/${made.guid}`)).data.checksum.value}`;
    for (const [name, size] of [
      ["short", 1],
      ["long", 1_000_000],
    ] as const) {
      const droplet = await bench.droplet(app, name, { content: { digest, size } });
      const answer = await bench.call("GET", `/v3/droplets/${droplet.guid}/download`);
      expect([name, answer.status, answer.headers.get("content-length")]).toEqual([name, 200, expect.any(String)]);
      expect(answer.headers.get("content-length")).not.toBe(String(size));
      texts.push(answer.text);
    }
    expect(texts[0]).toBe(texts[1]);
    const gone = await bench.droplet(app, "gone");
    expect(fault(await bench.call("GET", `/v3/droplets/${gone.guid}/download`))).toEqual([
      502,
      "CF-BlobstoreUnavailable",
      "Failed to perform operation due to blobstore unavailability.",
    ]);
  });

  test("of several uploads at once one wins", async () => {
    const { guid } = await bits();
    const answers = await Promise.all(
      ["a", "b", "c", "d"].map((content) => upload(guid, { bits: zip([{ name: "f", content }]) })),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 400, 400, 400]);
    for (const answer of answers.filter(({ status }) => status === 400))
      expect(fault(answer).slice(0, 2)).toEqual([400, "CF-PackageBitsAlreadyUploaded"]);
    const [won] = answers.filter(({ status }) => status === 200);
    expect((await bench.read(`/v3/packages/${guid}`)).data.checksum).toEqual(won?.json.data.checksum);
  });

  test("a second push sends only the file that changed", async () => {
    const big = randomBytes(1 << 20).toString("hex");
    const mine = await bench.app(space, "twice");
    const push = async (files: Record<string, string>): Promise<{ sent: number; guid: string }> => {
      const known = Object.entries(files).map(([path, content]) => ({
        path,
        mode: "644",
        checksum: { value: createHash("sha1").update(content).digest("hex") },
        size_in_bytes: content.length,
      }));
      const matches = await bench.call("POST", "/v3/resource_matches", { resources: known });
      const matched = new Set(matches.json.resources.map(({ path }: { path: string }) => path));
      const bytes = zip(
        Object.entries(files).flatMap(([name, content]) => (matched.has(name) ? [] : [{ name, content }])),
      );
      const resources = JSON.stringify(matches.json.resources);
      const { guid } = await bench.make("/v3/packages", { type: "bits", relationships: { app: to(mine) } });
      const answer = await upload(guid, { bits: bytes, resources });
      expect([answer.status, answer.json.errors]).toEqual([200, undefined]);
      return { sent: bytes.length + resources.length, guid };
    };
    expect((await push({ "big.bin": big, "index.js": "one" })).sent).toBeGreaterThan(1 << 20);
    const second = await push({ "big.bin": big, "index.js": "two" });
    expect(second.sent).toBeLessThan(1000);
    const { url } = bench.testEnv.replicas[0];
    const headers = { authorization: "bearer admin-token" };
    const all = await fetch(`${url}/v3/packages/${second.guid}/download`, { headers });
    expect((await all.arrayBuffer()).byteLength).toBeGreaterThan(1 << 20);
  });

  test("files pushed before match for callers who may read them", async () => {
    const content = "65 KB of code ".repeat(4700);
    const value = createHash("sha1").update(content).digest("hex");
    const resource = { path: "lib.js", mode: "644", checksum: { value }, size_in_bytes: content.length };
    const wanted = { resources: [resource, { ...resource, checksum: { value: "0".repeat(40) } }] };
    const match = (person: "admin" | "carl") =>
      bench.testEnv.replicas[0].call(person, "POST", "/v3/resource_matches", wanted);
    expect((await match("admin")).json).toEqual({ resources: [] });
    await upload((await bits()).guid, { bits: zip([{ name: "other/name.js", content }]) });
    const matched = await match("admin");
    expect([matched.status, matched.json]).toEqual([201, { resources: [resource] }]);
    expect((await match("carl")).json).toEqual({ resources: [] });
    // Into the same app, and into another space.
    const elsewhere = await bench.app(await bench.space(org, "elsewhere"), "elsewhere");
    const copies = [
      await bits(),
      await bench.make("/v3/packages", { type: "bits", relationships: { app: to(elsewhere) } }),
    ];
    for (const { guid } of copies) {
      const answer = await upload(guid, { resources: JSON.stringify([resource]) });
      expect([answer.status, answer.json.errors]).toEqual([200, undefined]);
    }
  });

  test("a copy has the source's bits, also in another space", async () => {
    const source = await bits();
    const copyTo = (target: { guid: string }, guid = source.guid) =>
      bench.call("POST", `/v3/packages?source_guid=${guid}`, { relationships: { app: to(target) } });
    const target = await bench.app(space, "copied");
    expect(fault(await copyTo(target))).toEqual([422, "CF-UnprocessableEntity", "Source package has no bits to copy."]);
    const { json: uploaded } = await upload(source.guid, { bits: zip([{ name: "a.txt", content: "copied" }]) });
    const far = await bench.app(await bench.space(org, "far"), "far");
    for (const app of [target, far]) {
      const copy = await copyTo(app);
      expect([copy.status, copy.json.data, copy.json.state]).toEqual([201, uploaded.data, "READY"]);
      expect(copy.json.guid).not.toBe(source.guid);
      expect(copy.json.relationships.app.data.guid).toBe(app.guid);
      expect((await bench.call("GET", `/v3/packages/${copy.json.guid}/download`)).text).toContain("a.txt");
    }
    expect(fault(await copyTo(app))[2]).toBe("Source and destination app cannot be the same");
    expect(fault(await copyTo(target, "unknown"))[2]).toBe(
      "Source package is invalid. Ensure it exists and you have access to it.",
    );
    expect(fault(await copyTo({ guid: "unknown" }))[2]).toBe(
      "App is invalid. Ensure it exists and you have access to it.",
    );
  });

  test.each([
    ["..", { bits: zip([{ name: "../evil", content: "x" }]) }],
    ["a name that no disk takes", { bits: zip([{ name: "n".repeat(256), content: "x" }]) }],
    ["a wrong checksum", { bits: damaged(zip([{ name: "a", content: "x".repeat(5000) }])) }],
    ["absolute", { bits: zip([{ name: "/etc/evil", content: "x" }]) }],
    ["symlink out", { bits: zip([{ name: "link", content: "../../etc/passwd", mode: 0o120777 }]) }],
    ["lying about its size", { bits: zip([{ name: "bomb", content: "x".repeat(5_000_000), size: 10 }]) }],
    ["no zip", { bits: Buffer.from("no zip at all") }],
    ["bad resources", { resources: "{}" }],
    ["neither", { other: "x" }],
    [
      "resources that are not there",
      {
        resources: JSON.stringify([{ path: "a", mode: "644", size_in_bytes: 1, checksum: { value: "0".repeat(40) } }]),
      },
    ],
    [
      "bad paths in resources",
      {
        resources: JSON.stringify([
          { path: "../a", mode: "644", size_in_bytes: 1, checksum: { value: "0".repeat(40) } },
        ]),
      },
    ],
  ])("an upload with %s is refused, and a good one may follow", async (_what, parts) => {
    const { guid } = await bits();
    const [status, , detail] = fault(await upload(guid, parts as Record<string, Buffer>));
    expect([400, 422]).toContain(status);
    expect(detail).not.toBe("");
    expect((await upload(guid, { bits: zip([{ name: "a", content: "x" }]), resources: "[]" })).status).toBe(200);
  });

  test("images are ready at once; credentials are never shown; kinds must match the app's", async () => {
    const docker = await bench.app(space, "docker-packed", { lifecycle: { type: "docker", data: {} } });
    const made = await bench.make("/v3/packages", {
      type: "docker",
      relationships: { app: to(docker) },
      data: { image: "registry.example/x", username: "u", password: "hunter2" },
    });
    expect(shapeProblems("package", made)).toEqual([]);
    expect([made.state, made.data.image, made.data.username, made.data.password]).toEqual([
      "READY",
      "registry.example/x",
      "u",
      "***",
    ]);
    expect((await bench.call("GET", `/v3/packages/${made.guid}`)).text).not.toContain("hunter2");
    expect(
      (await bench.call("POST", "/v3/packages", { type: "bits", relationships: { app: to(docker) } })).status,
    ).toBe(422);
    expect(
      (
        await bench.call("POST", "/v3/packages", {
          type: "docker",
          relationships: { app: to(app) },
          data: { image: "x" },
        })
      ).status,
    ).toBe(422);
    expect((await upload(made.guid, { bits: zip([{ name: "a", content: "x" }]) })).status).toBe(422);
    expect(await bench.column("/v3/packages?types=docker", "guid")).toEqual([made.guid]);
  });

  test("an app's own lists take no filters of place", async () => {
    for (const list of ["packages", "builds", "droplets", "processes"])
      for (const filter of ["app_guids", "space_guids", "organization_guids"])
        expect([list, filter, (await bench.call("GET", `/v3/apps/${app.guid}/${list}?${filter}=x`)).status]).toEqual([
          list,
          filter,
          400,
        ]);
  });
});

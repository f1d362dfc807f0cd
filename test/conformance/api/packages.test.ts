// Packages and builds: uploads, downloads, images, and what becomes of them.
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
    expect((await bench.call("GET", `/v3/packages/${made.guid}/download`)).status).toBe(200);
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

  test("a download has the length that is stored, not the one an object claims, and what is gone is CF's error", async () => {
    const made = await bits();
    await upload(made.guid, { bits: zip([{ name: "index.js", content: "x" }]) });
    const whole = await bench.call("GET", `/v3/packages/${made.guid}/download`);
    const digest = `sha256:${(await bench.read(`/v3/packages/${made.guid}`)).data.checksum.value}`;
    for (const [name, size] of [
      ["short", 1],
      ["long", 1_000_000],
    ] as const) {
      const droplet = await bench.droplet(app, name, { content: { digest, size } });
      const answer = await bench.call("GET", `/v3/droplets/${droplet.guid}/download`);
      expect([name, answer.status, answer.text === whole.text]).toEqual([name, 200, true]);
    }
    const gone = await bench.droplet(app, "gone");
    expect(fault(await bench.call("GET", `/v3/droplets/${gone.guid}/download`))).toEqual([
      502,
      "CF-BlobstoreUnavailable",
      "Failed to perform operation due to blobstore unavailability.",
    ]);
  });

  test.each([
    ["..", { bits: zip([{ name: "../evil", content: "x" }]) }],
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
      null,
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

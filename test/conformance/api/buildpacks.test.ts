// Buildpacks, stacks, and the caches of builds.
import { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { gunzipSync } from "node:zlib";
import { ZipFile } from "yazl";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { SYSTEM_NAMESPACE } from "../../../crds/groups.ts";
import { eventually } from "../../eventually.ts";
import { App } from "../../../crds/app/app.ts";
import { BackendClass } from "../../../crds/backend-class/backend-class.ts";
import { Buildpack } from "../../../crds/buildpack/buildpack.ts";
import { Stack } from "../../../crds/stack/stack.ts";
import { Package } from "../../../crds/package/package.ts";
import { packMembers } from "../../../blobs/archive/tar.ts";
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

const TOML = 'api = "0.11"\n[buildpack]\nid = "me/mine"\nversion = "1.2.3"\n';
const FILES = { "buildpack.toml": TOML, "bin/detect": "#!/bin/sh", "bin/build": "#!/bin/sh" };

async function zip(files: Record<string, string>): Promise<Buffer> {
  const archive = new ZipFile();
  for (const [name, content] of Object.entries(files)) archive.addBuffer(Buffer.from(content), name);
  archive.end();
  return buffer(archive.outputStream);
}

const tgz = (files: Record<string, string>): Promise<Buffer> =>
  buffer(
    packMembers(
      Object.entries(files).map(([path, content]) => ({
        path,
        type: "file" as const,
        mode: 0o755,
        size: content.length,
        content: () => Readable.from([content]),
      })),
    ),
  );

async function send(
  path: string,
  bytes: Buffer,
  { filename = "bits.zip", part = "bits" }: { filename?: string; part?: string } = {},
): Promise<Answer> {
  const form = new FormData();
  form.set(part, new Blob([new Uint8Array(bytes)]), filename);
  const response = new Response(form);
  return bench.testEnv.replicas[0].send("POST", path, {
    body: new Uint8Array(await response.arrayBuffer()),
    headers: { authorization: "bearer admin-token", "content-type": response.headers.get("content-type") ?? "" },
  });
}

describe("buildpacks", () => {
  const upload = (guid: string, bytes: Buffer, filename = "mine.zip", part = "bits"): Promise<Answer> =>
    send(`/v3/buildpacks/${guid}/upload`, bytes, { filename, part });
  const jobOf = async (answer: Answer): Promise<{ state: string; operation: string; errors: { detail: string }[] }> =>
    bench.read(new URL(answer.headers.get("location") ?? "").pathname);
  const order = async (): Promise<[string, number][]> =>
    (await bench.read("/v3/buildpacks?lifecycle=buildpack")).resources.map(
      ({ name, position }: { name: string; position: number }) => [name, position],
    );

  test("create, move, rename, lock, delete: the others make room", async () => {
    const first = await bench.make("/v3/buildpacks/", { name: "first" });
    expect([shapeProblems("buildpack", first), first.state, first.filename]).toEqual([[], "AWAITING_UPLOAD", null]);
    const last = await bench.make("/v3/buildpacks", { name: "last", position: 50, stack: "base", enabled: false });
    expect([last.position, last.stack, last.enabled]).toEqual([3, "base", false]);
    expect(await order()).toEqual([
      ["first", 1],
      ["nodejs", 2],
      ["last", 3],
    ]);
    const patch = (body: object): Promise<Answer> => bench.call("PATCH", `/v3/buildpacks/${last.guid}`, body);
    expect((await patch({ position: 1, name: "front", locked: true, enabled: true })).json).toMatchObject({
      name: "front",
      position: 1,
      locked: true,
      enabled: true,
    });
    expect(await order()).toEqual([
      ["front", 1],
      ["first", 2],
      ["nodejs", 3],
    ]);
    expect(fault(await patch({ stack: null }))[2]).toBe("Buildpack stack cannot be changed");
    expect(fault(await upload(last.guid, await zip(FILES)))).toEqual([
      422,
      "CF-UnprocessableEntity",
      "Buildpack is locked",
    ]);
    const gone = await bench.job(await bench.call("DELETE", `/v3/buildpacks/${last.guid}`));
    expect([gone.operation, gone.state]).toEqual(["buildpack.delete", "COMPLETE"]);
    expect(await order()).toEqual([
      ["first", 1],
      ["nodejs", 2],
    ]);
  });

  test.each([
    [{ name: "a b" }, "Name is invalid"],
    [{}, "Name can't be blank"],
    [{ name: "x", position: 0 }, "Position must be greater than or equal to 1"],
    [{ name: "x", lifecycle: "docker" }, 'Lifecycle must be either "buildpack" or "cnb"'],
    [{ name: "x", stack: "nope" }, "Stack 'nope' does not exist"],
    [{ name: "nodejs" }, "Buildpack with name 'nodejs' and an unassigned stack already exists"],
  ])("%j is refused", async (body, detail) => {
    expect(fault(await bench.call("POST", "/v3/buildpacks", body))).toEqual([422, "CF-UnprocessableEntity", detail]);
  });

  test("one name may stand for several stacks and lifecycles, once each", async () => {
    await bench.make("/v3/buildpacks", { name: "nodejs", stack: "base" });
    await bench.make("/v3/buildpacks", { name: "nodejs", lifecycle: "cnb" });
    expect(fault(await bench.call("POST", "/v3/buildpacks", { name: "nodejs", stack: "base" }))[2]).toBe(
      "Buildpack with name 'nodejs', stack 'base' and lifecycle 'buildpack' already exists",
    );
  });

  test("an upload is kept by content; what is no buildpack fails the upload or its job", async () => {
    const { guid } = await bench.make("/v3/buildpacks", { name: "uploaded" });
    const answer = await upload(guid, await zip(FILES));
    expect([answer.status, shapeProblems("buildpack", answer.json)]).toEqual([202, []]);
    expect(await jobOf(answer)).toMatchObject({ operation: "buildpack.upload", state: "COMPLETE", errors: [] });
    expect(await bench.read(`/v3/buildpacks/${guid}`)).toMatchObject({ state: "READY", filename: "mine.zip" });
    const [stored] = bench.testEnv.replicas[0].api.cache.store(Buildpack).byIndex("guid", guid);
    expect(stored?.spec.content?.digest).toMatch(/^sha256:/);

    const nothing = await upload(guid, await zip({ "index.js": "" }));
    expect(await jobOf(nothing)).toMatchObject({ state: "FAILED" });
    expect((await jobOf(nothing)).errors[0]?.detail).toMatch(
      /^Buildpack zip error: the archive has no buildpack\.toml/,
    );
    const refused = async (bytes: Buffer, filename?: string, part?: string): Promise<string> =>
      fault(await upload(guid, bytes, filename, part))[2];
    expect(await refused(Buffer.from("hello"), "x.zip")).toBe(
      'Uploaded buildpack file is invalid: x.zip is not a zip file. Buildpacks of lifecycle "buildpack" must be valid zip files.',
    );
    expect(await refused(Buffer.alloc(0), "x.zip")).toBe("Uploaded buildpack file is invalid: x.zip cannot be empty");
    expect(await refused(Buffer.from("x"), "x.zip", "other")).toBe(
      "Uploaded buildpack file is invalid: A buildpack zip file must be uploaded as 'bits'",
    );
    const cnb = await bench.make("/v3/buildpacks", { name: "packed", lifecycle: "cnb" });
    expect(await jobOf(await upload(cnb.guid, await tgz(FILES), "mine.tgz"))).toMatchObject({ state: "COMPLETE" });
    const tar = gunzipSync(await tgz(FILES));
    expect(await jobOf(await upload(cnb.guid, tar, "mine.cnb"))).toMatchObject({ state: "COMPLETE" });
    const broken = await upload(cnb.guid, (await tgz(FILES)).subarray(0, 60), "mine.tgz");
    expect(await jobOf(broken)).toMatchObject({
      state: "FAILED",
      errors: [{ detail: expect.stringMatching(/^Buildpack zip error: it is no tar\.gz that can be read/) as string }],
    });
    expect(fault(await upload(cnb.guid, await zip(FILES)))[2]).toMatch(/is not a gzip archive or cnb file/);
  });

  test("one of a builder image is shown with its version, can be disabled, and is replaced by an upload but not deleted", async () => {
    const spec = { name: "me/lisp", path: "me/lisp", builder: "cnb", position: 1 };
    const object = { namespace: SYSTEM_NAMESPACE, name: "me-lisp" };
    await bench.testEnv.kube.create(Buildpack, { metadata: object, spec });
    const body = { status: { id: "me/lisp", version: "1.0.0" } };
    await bench.testEnv.kube.patch(Buildpack, object, { type: "merge", body }, { subresource: "status" });
    const find = async (): Promise<{ guid: string; filename: string }> =>
      (await bench.read("/v3/buildpacks?names=me%2Flisp")).resources[0];
    await eventually(async () => expect(await find()).toMatchObject({ filename: "me/lisp-v1.0.0", state: "READY" }));
    const { guid } = await find();
    expect((await bench.call("PATCH", `/v3/buildpacks/${guid}`, { enabled: false })).json.enabled).toBe(false);
    expect(fault(await bench.call("DELETE", `/v3/buildpacks/${guid}`))[2]).toBe(
      "Buildpack 'me/lisp' is part of the builder image of class cnb: disable it instead, by cf update-buildpack me/lisp --disable",
    );
    expect(await jobOf(await upload(guid, await zip(FILES)))).toMatchObject({ state: "COMPLETE" });
    expect(await find()).toMatchObject({ filename: "mine.zip", enabled: false });
    await bench.job(await bench.call("DELETE", `/v3/buildpacks/${guid}`));
  });

  test("a build that names a disabled one is refused", async () => {
    await bench.make("/v3/buildpacks", { name: "off", enabled: false });
    const lifecycle = { type: "buildpack", data: { buildpacks: ["off"] } };
    const app = await bench.app(space, "off", { lifecycle });
    const made = await bench.make("/v3/packages", { type: "bits", relationships: { app: to(app) } });
    expect((await send(`/v3/packages/${made.guid}/upload`, await zip({ a: "x" }))).json.state).toBe("READY");
    expect(fault(await bench.call("POST", "/v3/builds", { package: { guid: made.guid } }))).toEqual([
      400,
      "CF-BuildpackInvalid",
      "Buildpack is invalid: Requested buildpack(s) 'off' are disabled and cannot be used for staging",
    ]);
  });

  test("only operators change them", async () => {
    expect((await bench.call("POST", "/v3/buildpacks", { name: "mine" }, "bob")).status).toBe(403);
  });
});

describe("stacks", () => {
  const state = (guid: string, body: object): Promise<Answer> => bench.call("PATCH", `/v3/stacks/${guid}`, body);

  test("create, change, list the apps of, delete", async () => {
    const stack = await bench.make("/v3/stacks", {
      name: "next",
      description: "the next one",
      metadata: { labels: { a: "b" } },
    });
    expect([shapeProblems("stack", stack), stack.state, stack.state_reason, stack.default]).toEqual([
      [],
      "ACTIVE",
      null,
      false,
    ]);
    expect(fault(await bench.call("POST", "/v3/stacks", { name: "NEXT" }))[2]).toBe("Name must be unique");
    expect(fault(await bench.call("POST", "/v3/stacks", { name: "x", state: "OLD" }))[2]).toBe(
      "State must be one of ACTIVE, RESTRICTED, DEPRECATED, DISABLED",
    );
    const app = await bench.app(space, "on-next", { lifecycle: { type: "buildpack", data: { stack: "next" } } });
    expect(await bench.column(`/v3/stacks/${stack.guid}/apps`, "guid")).toEqual([app.guid]);
    expect(fault(await bench.call("DELETE", `/v3/stacks/${stack.guid}`))[2]).toBe(
      "Cannot delete stack 'next' because apps are currently using the stack.",
    );
    await bench.job(await bench.call("DELETE", `/v3/apps/${app.guid}`));
    expect((await bench.call("DELETE", `/v3/stacks/${stack.guid}`)).status).toBe(204);
    expect((await bench.call("GET", `/v3/stacks/${stack.guid}`)).status).toBe(404);
  });

  test("a state warns or refuses", async () => {
    const { guid } = await bench.make("/v3/stacks", { name: "old", state: "DEPRECATED", state_reason: "Use next." });
    const lifecycle = { type: "buildpack", data: { stack: "old" } };
    const body = (name: string): object => ({ name, lifecycle, relationships: { space: to(space) } });
    const warned = await bench.call("POST", "/v3/apps", body("warned"));
    expect([warned.status, decodeURIComponent(warned.headers.get("x-cf-warnings") ?? "")]).toEqual([
      201,
      "WARNING: The stack 'old' is 'DEPRECATED' and will be removed in the future. Use next.",
    ]);
    expect((await state(guid, { state: "RESTRICTED", state_reason: null })).json).toMatchObject({
      state: "RESTRICTED",
      state_reason: null,
    });
    expect(fault(await bench.call("POST", "/v3/apps", body("refused")))).toEqual([
      422,
      "CF-UnprocessableEntity",
      "ERROR: Staging failed. The stack 'old' is 'RESTRICTED' and cannot be used for staging.",
    ]);
    const warnedApp = bench.testEnv.replicas[0].api.cache.store(App).byIndex("guid", warned.json.guid)[0]?.metadata;
    await bench.testEnv.kube.create(Package, {
      metadata: { name: "warned", namespace: warnedApp?.namespace },
      spec: {
        appRef: { name: warnedApp?.name },
        type: "bits",
        content: { digest: `sha256:${"a".repeat(64)}`, size: 1 },
      },
    });
    const build = await eventually(async () => {
      const [found] = (await bench.read(`/v3/apps/${warned.json.guid}/packages?states=READY`)).resources;
      return bench.call("POST", "/v3/builds", { package: { guid: found.guid } });
    });
    expect(fault(build)).toEqual([
      422,
      "CF-StackValidationFailed",
      "ERROR: Staging failed. The stack 'old' is 'RESTRICTED' and cannot be used for staging.",
    ]);
    const [base] = (await bench.read("/v3/stacks?names=base")).resources;
    await state(base.guid, { state: "DISABLED" });
    const onDefault = { name: "on-default", relationships: { space: to(space) } };
    expect(fault(await bench.call("POST", "/v3/apps", onDefault))[2]).toMatch(/^ERROR: .* 'base' is 'DISABLED'/);
    expect(fault(await bench.manifest(space, "applications: [{ name: on-default }]"))[2]).toMatch(
      /^For application 'on-default': ERROR: .* 'base' is 'DISABLED'/,
    );
    const changed = await state(base.guid, { state: "ACTIVE" });
    expect(decodeURIComponent(changed.headers.get("x-cf-warnings") ?? "")).toMatch(
      /^Changing state on the default stack/,
    );
  });
});

test("manifests of other Cloud Foundries: a stack that another stands for, a buildpack by its repository", async () => {
  const metadata = { name: "cflinuxfs4", namespace: SYSTEM_NAMESPACE };
  await bench.testEnv.kube.create(Stack, { metadata, spec: { name: "cflinuxfs4", substitute: "base" } });
  await eventually(async () => expect((await bench.read("/v3/stacks?names=cflinuxfs4")).resources).toHaveLength(1));
  await bench.make("/v3/buildpacks", { name: "nodejs_buildpack" });
  const buildpack = "https://github.com/cloudfoundry/nodejs-buildpack.git#v1.8.3";
  const data = { stack: "cflinuxfs4", buildpacks: [buildpack] };
  const body = { name: "moved", lifecycle: { type: "buildpack", data }, relationships: { space: to(space) } };
  const app = await bench.call("POST", "/v3/apps", body);
  const onStack = "WARNING: The stack 'cflinuxfs4' is not available here. The app is built and runs on 'base'.";
  const warningsOf = (answer: Answer): string => decodeURIComponent(answer.headers.get("x-cf-warnings") ?? "");
  expect([app.status, warningsOf(app), app.json.lifecycle.data]).toEqual([201, onStack, data]);
  const made = bench.testEnv.replicas[0].api.cache.store(App).byIndex("guid", app.json.guid)[0]?.metadata;
  await bench.testEnv.kube.create(Package, {
    metadata: { name: "moved", namespace: made?.namespace },
    spec: { appRef: { name: made?.name }, type: "bits", content: { digest: `sha256:${"b".repeat(64)}`, size: 1 } },
  });
  const build = await eventually(async () => {
    const [found] = (await bench.read(`/v3/apps/${app.json.guid}/packages?states=READY`)).resources;
    return bench.call("POST", "/v3/builds", { package: { guid: found.guid } });
  });
  expect([build.status, warningsOf(build)]).toEqual([
    201,
    `${onStack},WARNING: The buildpack '${buildpack}' needs Cloud Foundry's containers. 'nodejs_buildpack' builds the app instead.`,
  ]);
});

test("the cache of builds is cleared for one app, or for all", async () => {
  const app = await bench.app(space, "cached");
  const job = await bench.job(await bench.call("POST", `/v3/apps/${app.guid}/actions/clear_buildpack_cache`));
  expect([job.operation, job.state]).toEqual(["app.clear_buildpack_cache", "COMPLETE"]);
  const { cache } = bench.testEnv.replicas[0].api;
  expect(cache.store(App).byIndex("guid", app.guid)[0]?.spec.buildCache).toBeTruthy();
  const all = await bench.job(await bench.call("POST", "/v3/admin/actions/clear_buildpack_cache"));
  expect([all.operation, all.state]).toEqual(["admin.clear_buildpack_cache", "COMPLETE"]);
  const classes = cache.store(BackendClass).list();
  expect(classes.filter(({ spec }) => spec.buildCache !== undefined).map(({ spec }) => spec.role)).toEqual(["builder"]);
  expect((await bench.call("POST", "/v3/admin/actions/clear_buildpack_cache", undefined, "bob")).status).toBe(403);
});

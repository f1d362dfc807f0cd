// Droplets without a build: uploaded, copied to another app, downloaded.
import { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { afterAll, beforeAll, expect, test } from "vitest";
import { packMembers, readTar } from "../../../blobs/archive/tar.ts";
import type { ImageStore } from "../../../blobs/image-store.ts";
import { ROOT_LABEL } from "../../../blobs/droplet/receive-droplet.ts";
import { App } from "../../../crds/app/app.ts";
import { BackendClass } from "../../../crds/backend-class/backend-class.ts";
import { Droplet } from "../../../crds/droplet/droplet.ts";
import { eventually } from "../../eventually.ts";
import { type ApiHarness, fault, startApiHarness, to } from "./harness.ts";
import { shapeProblems } from "./response-shape.ts";
import type { Answer } from "./test-env.ts";

const FOLDER = "/home/me/droplets";
const BUILT_AT = `${FOLDER}/11111111-1111-4111-8111-111111111111`;
let bench: ApiHarness;
let space: { guid: string };
let app: { guid: string };
beforeAll(async () => {
  bench = await startApiHarness();
  const org = await bench.org("org");
  space = await bench.space(org, "space");
  app = await bench.app(space, "app");
});
afterAll(() => bench.testEnv.stop());

const create = (of: { guid: string }, more: object = {}): Promise<Answer> =>
  bench.call("POST", "/v3/droplets", { relationships: { app: to(of) }, ...more });

async function tgz(files: Record<string, string>): Promise<Buffer> {
  const members = Object.entries(files).map(([path, content]) => ({
    path,
    type: "file" as const,
    mode: 0o755,
    size: content.length,
    content: () => Readable.from([content]),
  }));
  return buffer(packMembers(members));
}

const FILES = {
  "app/run": `exec ${BUILT_AT}/layers/x`,
  "layers/config/metadata.toml": `[[labels]]\nkey = "${ROOT_LABEL}"\nvalue = "${BUILT_AT}"\n`,
};

async function upload(guid: string, bytes: Buffer, filename = "droplet.tgz"): Promise<Answer> {
  const form = new FormData();
  form.set("bits", new Blob([new Uint8Array(bytes)]), filename);
  const response = new Response(form);
  return bench.testEnv.replicas[0].send("POST", `/v3/droplets/${guid}/upload`, {
    body: new Uint8Array(await response.arrayBuffer()),
    headers: { authorization: "bearer admin-token", "content-type": response.headers.get("content-type") ?? "" },
  });
}

/** The text of app/run in a downloaded droplet. */
async function downloaded(guid: string): Promise<string> {
  const { url } = bench.testEnv.replicas[0];
  const answer = await fetch(`${url}/v3/droplets/${guid}/download`, {
    headers: { authorization: "bearer admin-token" },
  });
  const files = new Map<string, string>();
  await readTar(Readable.from([Buffer.from(await answer.arrayBuffer())]), 1e6, async (header, body) => {
    files.set(header.name, (await body.bytes()).toString());
  });
  return files.get("app/run") ?? `${answer.status}`;
}

const rootOf = (guid: string): string =>
  bench.testEnv.replicas[0].api.cache.store(Droplet).byIndex("guid", guid)[0]?.spec.root ?? "";

test("without a builder of files nothing can be uploaded, and it is said", async () => {
  expect(fault(await create(app))[2]).toMatch(
    /^Droplets cannot be uploaded here: no builder class of this platform takes them/,
  );
});

test("where droplets become images, an upload is done when its image is made, and may fail", async () => {
  const { kube } = bench.testEnv;
  const capabilities = { dropletRunImage: "run", dropletBuilderImage: "b", dropletUser: "1:1", platformAPI: "0.14" };
  const patch = { type: "merge", body: { status: { capabilities } } } as const;
  await kube.patch(BackendClass, { name: "builder" }, patch, { subresource: "status" });
  const { guid } = await eventually(async () => {
    const answer = await create(app);
    expect(answer.status).toBe(201);
    return answer.json;
  });
  const stored = (): Droplet => bench.testEnv.replicas[0].api.cache.store(Droplet).byIndex("guid", guid)[0]!;
  const uploaded = await upload(guid, await tgz(FILES));
  // The registry is missing here, so that nobody makes the image.
  expect([uploaded.status, uploaded.json.state, uploaded.json.checksum.type]).toEqual([
    202,
    "PROCESSING_UPLOAD",
    "sha256",
  ]);
  expect([stored().spec.kind, stored().spec.root]).toEqual(["host", undefined]);
  const path = new URL(uploaded.headers.get("location") ?? "").pathname;
  expect((await bench.read(path)).state).toBe("PROCESSING");
  const assign = (): Promise<Answer> =>
    bench.call("PATCH", `/v3/apps/${app.guid}/relationships/current_droplet`, { data: { guid } });
  expect(fault(await assign())[2]).toBe("droplet must be in staged state");
  const { namespace = "", name } = stored().metadata;
  const say = (status: object): Promise<unknown> =>
    kube.patch(Droplet, { namespace, name }, { type: "merge", body: { status } }, { subresource: "status" });
  await say({ state: "Staged", image: "registry.example/apps@sha256:1" });
  await eventually(async () => expect((await bench.read(path)).state).toBe("COMPLETE"));
  expect((await assign()).status).toBe(200);
  expect(await downloaded(guid)).toMatch(/^exec \/cupola-root-0+\/layers\/x$/);

  const copy = await bench.call("POST", `/v3/droplets?source_guid=${guid}`, { relationships: { app: to(app) } });
  expect([copy.status, copy.json.state, copy.json.checksum]).toEqual([
    201,
    "PROCESSING_UPLOAD",
    uploaded.json.checksum,
  ]);
});

test("a built image is a file to download, and is copied to another space", async () => {
  const { kube, replicas } = bench.testEnv;
  const asked: unknown[] = [];
  const images: ImageStore = {
    openDroplet: async ({ image }) => (image === "own/x@sha256:1" ? Readable.from([await tgz(FILES)]) : undefined),
    copyDroplet: async (...of) => (asked.push(of), "own/y@sha256:1"),
  };
  const replica = await bench.testEnv.replica("images", { images });
  const built = async (name: string, image: string): Promise<string> => {
    const { namespace = "" } = replicas[0].api.cache.store(App).byIndex("guid", app.guid)[0]!.metadata;
    const spec = { appRef: { name: "app" }, kind: "cnb", image, processTypes: { web: "./run" } };
    const made = await kube.create(Droplet, { metadata: { namespace, name }, spec });
    return made.metadata.uid ?? "";
  };
  const send = (method: string, path: string, body?: object): Promise<Answer> =>
    replica.send(method, path, {
      headers: { authorization: "bearer admin-token", "content-type": "application/json" },
      ...(body && { body: JSON.stringify(body) }),
    });
  const guid = await built("built", "own/x@sha256:1");
  const shown = await eventually(async () => {
    const answer = await send("GET", `/v3/droplets/${guid}`);
    expect(answer.status).toBe(200);
    return answer.json;
  });
  expect([shown.state, Object.keys(shown.links)]).toEqual(["STAGED", expect.arrayContaining(["download"])]);
  const answer = await fetch(`${replica.url}/v3/droplets/${guid}/download`, {
    headers: { authorization: "bearer admin-token" },
  });
  expect([answer.status, (await answer.arrayBuffer()).byteLength]).toEqual([200, (await tgz(FILES)).length]);
  const elsewhere = await bench.app(await bench.space(await bench.org("images"), "space"), "copy");
  const copied = await eventually(async () => {
    const made = await send("POST", `/v3/droplets?source_guid=${guid}`, { relationships: { app: to(elsewhere) } });
    expect(made.status).toBe(201);
    return made.json;
  });
  expect([copied.image, copied.state]).toEqual(["own/y@sha256:1", "STAGED"]);
  expect(asked.at(-1)).toEqual([
    { space: space.guid, image: "own/x@sha256:1" },
    { space: expect.any(String), app: elsewhere.guid, droplet: expect.any(String) },
  ]);
  const foreign = await built("foreign", "elsewhere/x@sha256:1");
  await eventually(async () =>
    expect(fault(await send("GET", `/v3/droplets/${foreign}/download`))[2]).toBe(
      "Cannot download droplets that are images: pull the image instead.",
    ),
  );
});

test("created, uploaded once, assigned, downloaded, copied to an app of another space", async () => {
  const { kube } = bench.testEnv;
  const capabilities = { dropletFolder: FOLDER };
  const patch = { type: "merge", body: { status: { capabilities } } } as const;
  await kube.patch(BackendClass, { name: "builder" }, patch, { subresource: "status" });
  const made = await eventually(async () => {
    const answer = await create(app, { process_types: { web: "./run" } });
    expect(answer.status).toBe(201);
    return answer;
  });
  const { guid } = made.json;
  expect([shapeProblems("droplet", made.json), made.json.state, made.json.process_types]).toEqual([
    [],
    "AWAITING_UPLOAD",
    { web: "./run" },
  ]);
  const assign = (): Promise<Answer> =>
    bench.call("PATCH", `/v3/apps/${app.guid}/relationships/current_droplet`, { data: { guid } });
  const unstaged = "droplet must be in staged state";
  expect(fault(await assign())[2]).toBe(unstaged);
  const deployed = { relationships: { app: to(app) }, droplet: { guid } };
  expect(fault(await bench.call("POST", "/v3/deployments", deployed))[2]).toBe(unstaged);
  const task = { command: "true", droplet_guid: guid };
  expect(fault(await bench.call("POST", `/v3/apps/${app.guid}/tasks`, task))[2]).toBe(unstaged);
  expect(fault(await bench.call("GET", `/v3/droplets/${guid}/download`))[2]).toBe(
    "Only staged droplets can be downloaded.",
  );

  const bytes = await tgz(FILES);
  const refused = async (...args: [Buffer, string?]): Promise<string> => fault(await upload(guid, ...args))[2];
  expect(await refused(bytes, "droplet.zip")).toBe("Uploaded droplet file is invalid: droplet.zip is not a tgz");
  expect(await refused(Buffer.alloc(0))).toBe("Uploaded droplet file is invalid: droplet.tgz cannot be empty");
  expect(await refused(Buffer.from("hello"))).toMatch(/^Uploaded droplet file is invalid: it is no tar\.gz/);
  expect(await refused(await tgz({ "x/y": "" }))).toMatch(/^Uploaded droplet file is invalid: it has no folder app/);
  const uploaded = await upload(guid, bytes);
  expect([uploaded.status, uploaded.json.state, uploaded.json.checksum.type]).toEqual([202, "STAGED", "sha256"]);
  const job = await bench.read(new URL(uploaded.headers.get("location") ?? "").pathname);
  expect([job.operation, job.state]).toEqual(["droplet.upload", "COMPLETE"]);
  expect(fault(await upload(guid, bytes))[2]).toBe(
    "Droplet may be uploaded only once. Create a new droplet to upload bits.",
  );
  expect((await assign()).status).toBe(200);
  expect(rootOf(guid)).toMatch(new RegExp(`^${FOLDER}/(?!1111)[0-9a-f-]{36}$`));
  expect(await downloaded(guid)).toBe(`exec ${rootOf(guid)}/layers/x`);

  const elsewhere = await bench.app(await bench.space(await bench.org("other"), "space"), "copy");
  const copy = (body: object): Promise<Answer> => bench.call("POST", `/v3/droplets?source_guid=${guid}`, body);
  const copied = await copy({ relationships: { app: to(elsewhere) } });
  expect([copied.status, shapeProblems("droplet", copied.json), copied.json.process_types]).toEqual([
    201,
    [],
    { web: "./run" },
  ]);
  expect(rootOf(copied.json.guid)).not.toBe(rootOf(guid));
  expect(await downloaded(copied.json.guid)).toBe(`exec ${rootOf(copied.json.guid)}/layers/x`);
  const image = await bench.app(space, "image", { lifecycle: { type: "docker", data: {} } });
  expect(fault(await copy({ relationships: { app: to(image) } }))[2]).toBe(
    "source and destination lifecycle types do not match",
  );
  expect(fault(await create(image))[2]).toBe("Droplet creation is not available for apps with docker lifecycles.");
  expect(fault(await create(app, { process_types: { web: 1 } }))[2]).toContain("value must be a string");
});

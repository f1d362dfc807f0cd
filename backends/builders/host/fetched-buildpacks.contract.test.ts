// Buildpacks by address: a git repository and an image, from real servers on this machine.
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { promisify } from "node:util";
import { gzipSync } from "node:zlib";
import { afterEach, beforeEach, expect, test } from "vitest";
import { pack } from "tar-stream";
import { hostEnvironment } from "../../host/host-environment.ts";
import { fetchedBuildpacks, type ProvideFetched } from "./fetched-buildpacks.ts";
import { findBuildpack } from "./buildpack-folders.ts";

const run = promisify(execFile);
let directory: string;
let server: Server;
let answers: Map<string, { type?: string; body: Buffer }>;
let host: string;
let provide: ProvideFetched;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "cupola-fetched-"));
  answers = new Map();
  server = createServer((request, response) => {
    const path = new URL(request.url ?? "", "http://x").pathname;
    const answer = answers.get(path);
    if (answer) response.writeHead(200, answer.type ? { "content-type": answer.type } : {}).end(answer.body);
    else
      readFile(join(directory, path)).then(
        (body) => response.end(body),
        () => response.writeHead(404).end(),
      );
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  provide = fetchedBuildpacks({
    directory: join(directory, "fetched"),
    environment: { ...hostEnvironment(), HOME: directory },
  });
});
afterEach(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
  await rm(directory, { recursive: true, force: true });
});

const descriptor = (id: string, version = "1.0.0"): string =>
  `api = "0.10"\n[buildpack]\nid = "${id}"\nversion = "${version}"\n[[targets]]\nos = "${process.platform}"\n`;

/** A repository as a web server has it, with one commit for each version. */
async function writeRepository(versions: readonly string[]): Promise<string> {
  const work = join(directory, "work");
  const git = (...args: string[]) =>
    run("git", ["-C", work, "-c", "user.name=a", "-c", "user.email=a@example.com", ...args]);
  await mkdir(join(work, "bin"), { recursive: true });
  await run("git", ["init", "--quiet", "--initial-branch=main", work]);
  for (const name of ["detect", "build"]) await writeFile(join(work, "bin", name), "#!/bin/sh\n", { mode: 0o755 });
  for (const version of versions) {
    await writeFile(join(work, "buildpack.toml"), descriptor("test/git", version));
    await git("add", ".");
    await git("commit", "--quiet", "-m", version);
    await git("tag", "-a", "-m", version, `v${version}`);
    // Its name ends in that of the newest branch, and git lists it first.
    if (version === "1.0.0") await git("branch", "a/main");
  }
  await run("git", ["clone", "--quiet", "--bare", work, join(directory, "bp.git")]);
  await run("git", ["-C", join(directory, "bp.git"), "update-server-info"]);
  return `http://${host}/bp.git`;
}

test("a git repository: its newest commit, or the one that is named", async () => {
  const url = await writeRepository(["1.0.0", "2.0.0"]);
  const uploaded = (): Promise<never> => Promise.reject(new Error("none is uploaded"));
  const find = (name: string) => findBuildpack({ name }, { uploaded, fetched: provide });
  expect(await find(url)).toMatchObject({ name: url, id: "test/git", version: "2.0.0" });
  expect(await find(`${url}#v1.0.0`)).toMatchObject({ version: "1.0.0" });
  expect(await find(`${url}#main`)).toMatchObject({ version: "2.0.0" });
  expect(await find(`${url}#a/main`)).toMatchObject({ version: "1.0.0" });
  await find(url);
  expect(await readdir(join(directory, "fetched"))).toHaveLength(2);
  await expect(find(`${url}#nowhere`)).rejects.toThrow(/has no branch or tag nowhere/);
  await expect(find(`http://user:secret@${host}/none.git`)).rejects.toThrow(
    /^the buildpack http:\/\/[^s]*@?127[^]* cannot be fetched by git: (?![^]*secret)/,
  );
});

async function publishImage(name: string, labels: object, files: Record<string, string>): Promise<void> {
  const tar = pack();
  for (const [path, content] of Object.entries(files)) tar.entry({ name: path, mode: 0o755 }, content);
  tar.finalize();
  const layer = gzipSync(await buffer(tar));
  const put = (body: Buffer): { digest: string; size: number } => {
    const digest = `sha256:${createHash("sha256").update(body).digest("hex")}`;
    answers.set(`/v2/${name}/blobs/${digest}`, { body });
    return { digest, size: body.length };
  };
  const config = put(Buffer.from(JSON.stringify({ os: "linux", config: { Labels: labels } })));
  const type = "application/vnd.oci.image.manifest.v1+json";
  const manifest = Buffer.from(JSON.stringify({ schemaVersion: 2, mediaType: type, config, layers: [put(layer)] }));
  for (const reference of ["latest", `sha256:${createHash("sha256").update(manifest).digest("hex")}`])
    answers.set(`/v2/${name}/manifests/${reference}`, { type, body: manifest });
}

test("an image: its main buildpack, with the others beside it", async () => {
  const label = { "io.buildpacks.buildpackage.metadata": JSON.stringify({ id: "test/all", version: "1.0.0" }) };
  await publishImage("team/bp", label, {
    "/cnb/buildpacks/test_all/1.0.0/buildpack.toml": `${descriptor("test/all")}[[order]]\n[[order.group]]\nid = "test/one"\nversion = "1.0.0"\n`,
    "/cnb/buildpacks/test_one/1.0.0/buildpack.toml": descriptor("test/one"),
    "/cnb/buildpacks/test_one/1.0.0/bin/detect": "#!/bin/sh\n",
    "/cnb/buildpacks/test_one/1.0.0/bin/build": "#!/bin/sh\n",
  });
  const folder = await provide(`docker://${host}/team/bp`);
  expect(await readFile(join(folder, "buildpack.toml"), "utf8")).toContain("test/all");
  expect((await readdir(join(folder, ".."))).toSorted()).toEqual(["test_all@1.0.0", "test_one@1.0.0"]);
});

test("an image that is no buildpack, and one that is not there, are refused", async () => {
  await publishImage("team/app", {}, { "/app": "x" });
  await expect(provide(`docker://${host}/team/app`)).rejects.toThrow(/is no buildpack: it has no label/);
  await expect(provide(`docker://${host}/team/none`)).rejects.toThrow(/docker:\/\/.*\/team\/none cannot be fetched/);
  await expect(provide("docker://No Name")).rejects.toThrow(/no name of an image/);
});

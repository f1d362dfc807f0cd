// Buildpacks by address: a git repository and an image, from real servers on this machine.
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server } from "node:http";
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
import { userCredentials } from "./user-credentials.ts";

const run = promisify(execFile);
let directory: string;
let server: Server;
let answers: Map<string, { type?: string; body: Buffer }>;
let host: string;
let provide: ProvideFetched;
/** Requests that get no answer, and who is told of each. */
let silent: Set<IncomingMessage>;
let onSilent: () => void;
let isPrivate: boolean;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "cupola-fetched-"));
  answers = new Map();
  silent = new Set();
  isPrivate = false;
  server = createServer((request, response) => {
    const path = new URL(request.url ?? "", "http://x").pathname;
    if (path.includes("silent")) {
      silent.add(request);
      return onSilent();
    }
    if (isPrivate && request.headers.authorization !== `Basic ${Buffer.from("ann:secret").toString("base64")}`)
      return void response.writeHead(401, { "www-authenticate": 'Basic realm="here"' }).end();
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

test("an image whose layer cannot be unpacked is said to be at fault, and leaves nothing", async () => {
  const label = { "io.buildpacks.buildpackage.metadata": JSON.stringify({ id: "test/out", version: "1.0.0" }) };
  await publishImage("team/out", label, { "cnb/../../../out": "x" });
  const fetched = (): Promise<string[]> => readdir(join(directory, "fetched")).catch(() => []);
  const before = await fetched();
  await expect(provide(`docker://${host}/team/out`)).rejects.toThrow(
    /team\/out cannot be fetched: the path .* leads out/,
  );
  expect(await fetched()).toEqual(before);
});

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

test.each(["http://HOST/silent.git", "docker://HOST/silent/bp"])(
  "%s: a fetch ends with the last build that waits for it",
  async (address) => {
    const asked = new Promise<void>((resolve) => (onSilent = resolve));
    const [one, other] = [new AbortController(), new AbortController()];
    const named = address.replace("HOST", host);
    const first = provide(named, one.signal).catch(String);
    const second = provide(named, other.signal).catch(String);
    await asked;
    one.abort(new Error("the Staging was deleted"));
    expect(await first).toBe("Error: the Staging was deleted");
    expect(silent.size).toBeGreaterThan(0);
    const closed = Promise.all([...silent].map((request) => once(request.socket, "close")));
    other.abort(new Error("the build took longer than 1 s"));
    expect(await second).toBe("Error: the build took longer than 1 s");
    await closed;
  },
);

test("an image of a private registry is fetched by the user's login", async () => {
  const label = { "io.buildpacks.buildpackage.metadata": JSON.stringify({ id: "test/one", version: "1.0.0" }) };
  await publishImage("team/secret", label, {
    "/cnb/buildpacks/test_one/1.0.0/buildpack.toml": descriptor("test/one"),
  });
  isPrivate = true;
  await expect(provide(`docker://${host}/team/secret`)).rejects.toThrow(/cannot be fetched/);
  await mkdir(join(directory, "docker"));
  const auth = Buffer.from("ann:secret").toString("base64");
  await writeFile(join(directory, "docker", "config.json"), JSON.stringify({ auths: { [host]: { auth } } }));
  const withLogin = fetchedBuildpacks({
    directory: join(directory, "fetched"),
    environment: {},
    credentials: (onHelperFailed) => userCredentials(join(directory, "docker"), {}, onHelperFailed),
  });
  expect(await withLogin(`docker://${host}/team/secret`)).toMatch(/test_one@1\.0\.0$/);
  await writeFile(join(directory, "docker", "config.json"), JSON.stringify({ credsStore: "not-installed" }));
  await expect(withLogin(`docker://${host}/team/secret`)).rejects.toThrow(
    /asks for credentials, and none are given for it; docker-credential-not-installed of your docker settings failed/,
  );
});

test("an image that is no buildpack, and one that is not there, are refused", async () => {
  await publishImage("team/app", {}, { "/app": "x" });
  await expect(provide(`docker://${host}/team/app`)).rejects.toThrow(/is no buildpack: it has no label/);
  await expect(provide(`docker://${host}/team/none`)).rejects.toThrow(/docker:\/\/.*\/team\/none cannot be fetched/);
  await expect(provide("docker://No Name")).rejects.toThrow(/no name of an image/);
});

// The folder of buildpacks that a build's first container makes for the detector.
import { mkdtempSync, readFileSync, readlinkSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { parse } from "smol-toml";
import { afterEach, beforeEach, expect, test } from "vitest";
import { packMembers } from "../../../blobs/archive/tar.ts";
import { placeBuildpacks } from "./place-buildpacks.ts";
import { toPlacedFile, type PlacedGroup } from "./placed-buildpacks.ts";

let to: string;
let file: string;
beforeEach(() => {
  to = mkdtempSync(join(tmpdir(), "cupola-place-"));
  file = `${to}.json`;
});
afterEach(() => {
  for (const path of [to, file]) rmSync(path, { recursive: true, force: true });
});

function toTar(files: Readonly<Record<string, string>>): Readable {
  return packMembers(
    Object.entries(files).map(([path, text]) => ({
      path,
      type: "file" as const,
      mode: 0o644,
      size: Buffer.byteLength(text),
      content: () => Readable.from([text]),
    })),
  );
}

const toml = (id: string, version = "1.0.0"): string =>
  `api = "0.10"\n[buildpack]\nid = "${id}"\nversion = "${version}"\n`;
const contents: Readonly<Record<string, Record<string, string>>> = {
  "sha256:rust": { "buildpack.toml": toml("me/rust"), "bin/detect": "#!/bin/sh\n" },
  "sha256:nested": { "top/buildpack.toml": toml("me/nested"), "top/bin/build": "#!/bin/sh\n" },
  "sha256:twin": { "buildpack.toml": toml("me/rust") },
  "sha256:node": { "buildpack.toml": toml("cupola/nodejs", "0.10.0") },
  "sha256:evil": { "buildpack.toml": toml("../../etc") },
  "sha256:none": { README: "nothing" },
};

async function place(order: readonly PlacedGroup[]): Promise<void> {
  writeFileSync(file, toPlacedFile(order, new Map([["cupola/nodejs", ["0.10.0", "0.9.0"]]])));
  const open = (digest: string): Promise<Readable> => Promise.resolve(toTar(contents[digest] ?? {}));
  await placeBuildpacks({ file, to, open, maxBytes: 2 ** 20, insecureHosts: [] });
}

const node = { id: "cupola/nodejs", version: "0.10.0" };
const upload = (name: string): { content: string; name: string } => ({ content: `sha256:${name}`, name });

test("uploaded buildpacks are beside links to the image's, and the order names all by id and version", async () => {
  await place([
    [node, upload("rust"), { ...node, optional: true }],
    [upload("nested"), upload("rust")],
  ]);
  expect(readlinkSync(join(to, "cupola_nodejs/0.9.0"))).toBe("/cnb/buildpacks/cupola_nodejs/0.9.0");
  expect(statSync(join(to, "me_rust/1.0.0/bin/detect")).mode & 0o777).toBe(0o755);
  expect(statSync(join(to, "me_nested/1.0.0/bin/build")).mode & 0o777).toBe(0o755);
  const [rust, nested] = ["me/rust", "me/nested"].map((id) => ({ id, version: "1.0.0" }));
  expect(parse(readFileSync(join(to, "order.toml"), "utf8"))).toEqual({
    order: [{ group: [node, rust, { ...node, optional: true }] }, { group: [nested, rust] }],
  });
});

test("an uploaded buildpack stands before one of the image that is the same", async () => {
  await place([[upload("node")]]);
  expect(readFileSync(join(to, "cupola_nodejs/0.10.0/buildpack.toml"), "utf8")).toContain("cupola/nodejs");
});

test.each([
  [["rust", "twin"], "the buildpack twin: another buildpack of this build is me/rust 1.0.0, too; disable one of them"],
  [["evil"], "the buildpack evil: its buildpack.toml has an id or a version that the specification does not allow"],
  [["none"], "the buildpack none: it has no buildpack.toml; an admin has to upload the folder of a buildpack"],
])("%s cannot be used", async (names, message) => {
  await expect(place([names.map(upload)])).rejects.toThrow(message);
});

test("an image's address with a password is refused without it", async () => {
  const image = "user:hunter2@registry.example/team/bp";
  const refusal = await place([[{ image, name: `docker://${image}` }]]).catch(String);
  expect(refusal).toMatch(/^Error: the buildpack docker:\/\/\*\*\*:\*\*\*@registry\.example\/team\/bp: /);
  expect(refusal).not.toContain("hunter2");
});

// A release is made twice: the same commit gives the same bytes, whatever the time and the folder.
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { whyNoPackages } from "../image/debian-packages.ts";
import { BASE_PACKAGES } from "../image/base-layer.ts";
import { ownProcessor } from "../image/processor.ts";
import { buildArtefacts, CHECKSUMS } from "./artefacts.ts";

const CHECKOUT = join(import.meta.dirname, "..", "..");
const reason = process.platform === "linux" ? whyNoPackages(BASE_PACKAGES) : "images are built on Linux";
if (reason) console.log(`release: skipped, ${reason}`);

describe.skipIf(reason)("a release", { timeout: 600_000 }, () => {
  let folder: string;
  const version = "0.9.0-test";
  const make = async (name: string): Promise<string> => {
    const output = join(folder, name);
    mkdirSync(output);
    const processors = [ownProcessor()];
    await buildArtefacts(output, { checkout: CHECKOUT, version, processors, onStep: () => undefined });
    return readFileSync(join(output, CHECKSUMS), "utf8");
  };
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), "cupola-twice-"));
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  test("has the same checksums twice, one for each file", async () => {
    const first = await make("first");
    expect(await make("second")).toBe(first);
    const names = first
      .trimEnd()
      .split("\n")
      .map((line) => line.split("  ")[1]);
    expect([...names, CHECKSUMS].sort()).toEqual(readdirSync(join(folder, "first")).sort());
    expect(names).toEqual(
      expect.arrayContaining([
        `cupola-chart-${version}.tgz`,
        `cupola-image-${version}-${ownProcessor()}.tar`,
        `cupola-kinds-${version}.yaml`,
        `cupola-sbom-${version}.cdx.json`,
        "NOTES.md",
        expect.stringMatching(/^cupola-\d+\.\d+\.\d+\.tgz$/),
      ]),
    );
    const kinds = readFileSync(join(folder, "first", `cupola-kinds-${version}.yaml`), "utf8");
    expect(kinds.match(/^ {4}cupola.dev\/schema-version: "0.9.0"$/gm)?.length).toBe(kinds.match(/^kind: /gm)?.length);
    const bom = readFileSync(join(folder, "first", `cupola-sbom-${version}.cdx.json`), "utf8");
    for (const name of ["pkg:npm/express@", "pkg:deb/debian/libc6@"]) expect(bom).toContain(name);
  });
});

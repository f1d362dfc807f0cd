// Debian packages on this machine: unpacked once, found again in the cache.
import { existsSync, statSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { providePackages, whyNoPackages } from "./debian-packages.ts";

const reason = whyNoPackages(["ca-certificates"]);

test.skipIf(reason)(
  `a package is unpacked once and then comes from the cache${reason ? `: ${reason}` : ""}`,
  async () => {
    const first = await providePackages(["ca-certificates"]);
    expect(first.versions).toEqual([expect.stringMatching(/^ca-certificates_.*_all$/)]);
    const folder = join(first.root, "usr", "share", "ca-certificates", "mozilla");
    expect(existsSync(folder)).toBe(true);
    const unpackedAt = statSync(first.root).ctimeMs;

    const second = await providePackages(["ca-certificates", "ca-certificates"]);
    expect(second).toEqual(first);
    expect(statSync(second.root).ctimeMs).toBe(unpackedAt);
  },
);

test("a name that apt-get would take for an option is refused", async () => {
  await expect(providePackages(["-oDir::Etc=/tmp"])).rejects.toThrow("no name of a Debian package");
});

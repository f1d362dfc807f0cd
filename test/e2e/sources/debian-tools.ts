// PHP, Ruby and puma from Debian's packages, in a folder for the PATH, where the machine has none: nothing is installed.
import { globSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { providePackages, whyNoPackages } from "../../../scripts/image/debian-packages.ts";
import { findProgram } from "../../find-program.ts";

/** Packages of Debian 12: later ones have other versions in the names. */
const PHP = ["php8.2-cli", "php8.2-common", "libedit2", "libargon2-1", "libsodium23", "libbsd0", "libmd0"];
const RUBY = [
  "ruby3.1",
  "libruby3.1",
  "ruby-rubygems",
  "rubygems-integration",
  "ruby-webrick",
  "libyaml-0-2",
  "libgmp10",
  "puma",
  "ruby-nio4r",
  "ruby-rack",
];

/** The folder with the programs; undefined where the machine has them all, or is no Debian 12. */
export async function provideDebianTools(): Promise<string | undefined> {
  if (["php", "ruby", "puma"].every((name) => findProgram(name))) return undefined;
  const release = globSync("/etc/os-release").map((path) => readFileSync(path, "utf8"))[0] ?? "";
  if (!/^ID=debian$/m.test(release) || !/^VERSION_ID="12"$/m.test(release) || whyNoPackages([...PHP, ...RUBY]))
    return undefined;
  const { root } = await providePackages([...PHP, ...RUBY]);
  const folder = mkdtempSync(join(tmpdir(), "cupola-debian-tools-"));
  const libraries = globSync(join(root, "usr/lib/*-linux-gnu")).join(":");
  const ruby = [
    "usr/lib/ruby/[0-9]*",
    "usr/lib/*/ruby/[0-9]*",
    "usr/lib/ruby/vendor_ruby",
    "usr/share/rubygems-integration/all/gems/*/lib",
    "usr/lib/*/rubygems-integration/*/gems/*/lib",
    "usr/lib/*/rubygems-integration/*/extensions/*/*/*",
  ].flatMap((pattern) => globSync(join(root, pattern)));
  const startRuby = `RUBYLIB=${ruby.join(":")} LD_LIBRARY_PATH=${libraries} exec ${join(root, "usr/bin/ruby3.1")}`;
  writeProgram(folder, "php", `LD_LIBRARY_PATH=${libraries} exec ${join(root, "usr/bin/php8.2")} "$@"`);
  writeProgram(folder, "ruby", `${startRuby} "$@"`);
  writeProgram(folder, "puma", `${startRuby} -e 'require "puma/cli"; Puma::CLI.new(ARGV).run' -- "$@"`);
  return folder;
}

function writeProgram(folder: string, name: string, command: string): void {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, name), `#!/bin/sh\n${command}\n`, { mode: 0o755 });
}

// Tells whether this machine has what a buildpack needs for the app in the current folder: `check-toolchain.mjs BUILDPACK`. As in a build, exit status 1 says what is missing.
import { existsSync } from "node:fs";
import { main } from "./log.mjs";

const module = new URL(`../${process.argv[2]}/toolchain.mjs`, import.meta.url);
await main(async () => {
  if (existsSync(module)) (await import(module.href)).requireToolchain(process.cwd());
});

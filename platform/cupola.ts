#!/usr/bin/env node
// The entry of `cupola`, which the image runs: the platform, or a command that the platform's own Pods run.

// Loaded when it is needed: every build waits for fetch-package, which takes a tenth of the platform's code, and every rebase for say.
const [, , command, ...words] = process.argv;
if (command === "say") process.stdout.write(`${words.join(" ")}\n`);
else await (command === "fetch-package" ? import("./fetch-package.ts") : import("./serve.ts"));

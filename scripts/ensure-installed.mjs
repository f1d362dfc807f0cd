// Runs before `npm start` and `npm test`, on whatever Node the machine has: installs the dependencies when they are absent or
// older than the lockfile. Plain JavaScript, because it runs before the Node that strips types is there.
import { spawnSync } from "node:child_process";
import { statSync } from "node:fs";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));

function modified(path) {
  return statSync(`${root}${path}`, { throwIfNoEntry: false })?.mtimeMs ?? 0;
}

// npm writes node_modules/.package-lock.json at the end of every install.
if (modified("node_modules/.package-lock.json") < modified("package-lock.json")) {
  console.log("Installing dependencies (npm ci) …");
  const { status, error } = spawnSync("npm", ["ci", "--no-fund", "--no-audit", "--loglevel=error"], {
    cwd: root,
    stdio: "inherit",
  });
  if (status !== 0) {
    console.error(
      `npm ci failed${error ? `: ${error.message}` : ""}. Check the network and the npm registry settings, then run the command again.`,
    );
    process.exit(status ?? 1);
  }
}

// Runs a program of ours on Node 26: in this process, or by the Node that npm installed beside us. Plain JavaScript, since it must parse on Node 20.
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { constants } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const NEEDED = 26;
/** Exit code of the dynamic linker. */
const CANNOT_LOAD = 127;
const root = dirname(dirname(fileURLToPath(import.meta.url)));

/** `program` is a path without its ending: a source of the checkout, else what the release compiled of it. */
export async function run(program) {
  const source = join(root, `${program}.ts`);
  const isCheckout = existsSync(source);
  const file = isCheckout ? source : join(root, "dist", `${program}.js`);
  if (Number(process.versions.node.split(".")[0]) < NEEDED) return handOver(findNode(), file);
  await import(pathToFileURL(join(root, isCheckout ? "" : "dist", "cli", "compile-cache.mjs")).href);
  await import(pathToFileURL(file).href);
}

/** The Node of package.json's optional dependencies. */
function findNode() {
  const require = createRequire(import.meta.url);
  const { platform, arch } = process;
  for (const name of [`node-${platform}-${arch}`, `node-bin-${platform}-${arch}`]) {
    try {
      return join(dirname(require.resolve(`${name}/package.json`)), "bin", "node");
    } catch {
      // not the package of this machine, or it was not installed
    }
  }
  console.error(
    `Cupola runs on Node ${NEEDED}; this is ${process.versions.node}, and the Node that comes with Cupola is not there (${platform} on ${arch}).\n` +
      `  Next: install Cupola again without --omit=optional, or install Node ${NEEDED}: https://nodejs.org`,
  );
  process.exit(1);
}

/** Ends as the program ends. A terminal sends Ctrl-C to both processes, so it is not passed on there. */
function handOver(node, file) {
  const child = spawn(node, [file, ...process.argv.slice(2)], { stdio: "inherit" });
  for (const signal of ["SIGTERM", "SIGHUP", "SIGINT"])
    process.on(signal, () => {
      if (signal !== "SIGINT" || !process.stdin.isTTY) child.kill(signal);
    });
  child.on("error", (error) => {
    console.error(`${node} cannot be started: ${error.message}`);
    process.exit(1);
  });
  child.on("exit", (code, signal) => {
    if (code === CANNOT_LOAD)
      console.error(
        `${node} could not be loaded.\n  Next: install the library that is missing; on Debian and Ubuntu: apt-get install libatomic1`,
      );
    process.exit(code ?? 128 + (constants.signals[signal] ?? 0));
  });
}

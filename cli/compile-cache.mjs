// Keeps what Node makes of the sources from run to run. Plain JavaScript, so that the first file with types comes from there, too: Node's support of types takes longer to load than all of `cup`.
import { existsSync } from "node:fs";
import { enableCompileCache } from "node:module";
import { homedir } from "node:os";
import { join } from "node:path";

enableCompileCache(compileCacheFolder());

/** A checkout's is beside its dependencies. An installed package is often in a folder that its user may not write. */
function compileCacheFolder() {
  return existsSync(join(import.meta.dirname, "cup.ts"))
    ? join(import.meta.dirname, "..", "node_modules", ".cache", "compiled")
    : join(process.env["XDG_CACHE_HOME"] || join(homedir(), ".cache"), "cupola", "compiled");
}

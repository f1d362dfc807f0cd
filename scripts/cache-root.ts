// Where the project keeps what it built or downloaded: outside the checkout.
import { homedir } from "node:os";
import { join } from "node:path";

/** `CUPOLA_CACHE`, else `cupola` in the user's cache folder. It may not exist yet. */
export function cacheRoot(): string {
  return process.env.CUPOLA_CACHE || join(process.env.XDG_CACHE_HOME || join(homedir(), ".cache"), "cupola");
}

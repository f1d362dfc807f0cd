// A Go app's needs of the machine.
import { requireTool } from "../shared/tools.mjs";

/** The go program. Throws with how to get it. */
export function requireToolchain() {
  return requireTool("go", { title: "Go", install: "install it from go.dev/dl, and push again" });
}

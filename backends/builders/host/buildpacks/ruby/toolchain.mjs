// A Ruby app's needs of the machine.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { requireTool } from "../shared/tools.mjs";

/** The programs ruby and, where the app has a Gemfile, bundle. Throws with how to get what is missing. */
export function requireToolchain(app) {
  const ruby = requireTool("ruby", {
    title: "Ruby",
    install: "install it (rbenv, ruby-install, or your system's package ruby-full)",
  });
  const isBundled = existsSync(join(app, "Gemfile"));
  const bundle = isBundled && requireTool("bundle", { title: "Bundler", install: "gem install bundler" });
  return { ruby, bundle };
}

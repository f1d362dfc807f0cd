// A PHP app's needs of the machine.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { readJson } from "../shared/files.mjs";
import { findTool, requireTool } from "../shared/tools.mjs";

/** The php program, and the command of Composer where the app has a use for it. Throws with how to get what is missing. */
export function requireToolchain(app) {
  const php = requireTool("php", { title: "PHP", install: "install it (php.net, or your system's package php-cli)" });
  return { php, composer: findComposer(app, php) };
}

function findComposer(app, php) {
  const has = (...path) => existsSync(join(app, ...path));
  if (!has("composer.json") || has("vendor", "autoload.php")) return undefined;
  if (has("composer.phar")) return [php, join(app, "composer.phar")];
  if (!findTool("composer") && listPackages(app).length === 0) return undefined;
  const install = "install it (getcomposer.org), or push the app with its vendor folder";
  return [requireTool("composer", { title: "Composer", install })];
}

/** The packages that composer.json asks for; PHP itself and its extensions are none. */
export function listPackages(app) {
  return Object.keys(readJson(app, "composer.json").require ?? {}).filter((name) => name.includes("/"));
}

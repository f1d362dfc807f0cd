// SvelteKit's adapter-auto, which new projects have: it takes the adapter of the place where it is built, by variables of a few hosts.
import { say } from "../shared/log.mjs";
import { dependsOn } from "./package.mjs";

/** Those by which it knows a host. The last is of Google's buildpacks, for which it installs and takes adapter-node: a server as it runs here. */
const signs = ["VERCEL", "CF_PAGES", "NETLIFY", "SST", "GCP_BUILDPACKS"];

/** Variables for the build script, so that a project with adapter-auto becomes a Node server. */
export function adapterSettings(description, env = process.env) {
  if (!dependsOn(description, "@sveltejs/adapter-auto") || dependsOn(description, "@sveltejs/adapter-node")) return {};
  if (signs.some((name) => env[name])) return {};
  say(
    "SvelteKit's adapter-auto takes @sveltejs/adapter-node here, and installs it in each build. To spare that: npm install -D @sveltejs/adapter-node, and import it in place of adapter-auto",
  );
  return { GCP_BUILDPACKS: "1" };
}

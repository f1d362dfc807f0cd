// `cup open`: an app's address in the browser.
import { spawn } from "node:child_process";
import type { Context } from "../context.ts";
import { Failure } from "../failure.ts";
import type { Result } from "../output.ts";
import { readUrls } from "./process-state.ts";

/** Prints the address, too: not every machine has a browser. @throws Failure when the app has no route */
export async function openApp(context: Context, name: string): Promise<Result> {
  const [url] = await readUrls(context, await context.app(name));
  if (url === undefined)
    throw new Failure(`${name} has no route, so there is nothing to open`, {
      next: `cup map-route ${name} DOMAIN --hostname ${name}; cup domains lists domains`,
    });
  const opened = await openInBrowser(url);
  return { json: { url, opened }, text: [opened ? url : `${url} (no browser was found here: open it yourself)`] };
}

function openInBrowser(url: string): Promise<boolean> {
  const program = process.platform === "darwin" ? "open" : "xdg-open";
  return new Promise((resolve) => {
    const child = spawn(program, [url], { detached: true, stdio: "ignore" });
    child.once("error", () => resolve(false));
    child.once("spawn", () => {
      child.unref();
      resolve(true);
    });
  });
}

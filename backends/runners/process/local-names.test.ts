// The hosts file of apps: what it says, and that programs which have it mounted see what is added.
import { execFileSync, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, expect, test, vi } from "vitest";
import type { RouteBinding } from "../../../crds/route-binding/route-binding.ts";
import { findIsolation } from "../../host/private-files.ts";
import { followLocalNames, toHostsText } from "./local-names.ts";

const folder = mkdtempSync(join(tmpdir(), "cupola-names-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const isolate = await findIsolation(folder);

test("only names below localhost are added, once each, none of which can break a line", () => {
  const names = ["Shop.apps.localhost", "shop.apps.localhost", "*.apps.localhost", "x.example.org", "a b.localhost"];
  expect(toHostsText("::1 localhost", names)).toBe("::1 localhost\n127.0.0.1 shop.apps.localhost\n");
});

/** A store of routes with these names. */
function storeOf(names: string[]) {
  const listeners: (() => void)[] = [];
  return {
    add: (name: string) => {
      names.push(name);
      for (const listener of listeners) listener();
    },
    list: () => names.map((hostname) => ({ spec: { hostname } }) as RouteBinding),
    onChange: (listener: () => void) => {
      listeners.push(listener);
      return () => undefined;
    },
  };
}

test("a route that comes or goes is written into the same file", async () => {
  const file = join(folder, "hosts");
  const names = ["first.apps.localhost", "second.apps.localhost"];
  const routes = storeOf(names);
  const followed = followLocalNames(file, routes as never, (error) => expect.unreachable(String(error)));
  await followed.write();
  const { ino } = statSync(file);
  names.length = 0;
  routes.add("third.apps.localhost");
  await vi.waitFor(() => expect(readFileSync(file, "utf8")).toMatch(/127\.0\.0\.1 third\.apps\.localhost\n$/));
  expect(readFileSync(file, "utf8")).not.toContain("second");
  expect(statSync(file).ino).toBe(ino);
  followed.stop();
});

const LOOK_UP = {
  node: [process.execPath, "-e", 'require("dns").lookup("later.apps.localhost", (e, a) => console.log(a))'],
  python: ["python3", "-c", 'import socket; print(socket.gethostbyname("later.apps.localhost"))'],
};

test.skipIf(!isolate).each(Object.entries(LOOK_UP))(
  "a program of %s finds the name of a route that came after its start",
  async (language, look) => {
    if (language === "python" && !hasPython()) return;
    const home = mkdtempSync(join(folder, "app-"));
    const hosts = join(home, "hosts");
    const routes = storeOf([]);
    const followed = followLocalNames(hosts, routes as never, (error) => expect.unreachable(String(error)));
    await followed.write();
    const root = join(home, "root");
    await mkdir(root);
    const waits = ["/bin/sh", "-c", 'echo started; read go; exec "$@"', "sh", ...look];
    const place = { root, changes: join(home, "changes"), hosts };
    const [file = "", ...args] = (await isolate?.({ command: waits, cwd: root }, place)) ?? [];
    const child = spawn(file, args, { cwd: root, stdio: ["pipe", "pipe", "inherit"] });
    const output = text(child.stdout);
    await new Promise((resolve) => child.stdout.once("data", resolve));
    routes.add("later.apps.localhost");
    await vi.waitFor(() => expect(readFileSync(hosts, "utf8")).toContain("later"));
    child.stdin.end("go\n");
    expect((await output).trim().split("\n").at(-1)).toBe("127.0.0.1");
    followed.stop();
  },
);

function hasPython(): boolean {
  try {
    execFileSync("python3", ["--version"], { stdio: "ignore" });
    return true;
  } catch {
    return false; // not on every machine
  }
}

// The crashes that `cup app` and `cup apps` tell of.
import { expect, test } from "vitest";
import type { Context } from "../context.ts";
import type { AuditEvent } from "./events.ts";
import { describeCrashes } from "./crashes.ts";
import { listApps } from "./list.ts";
import { showApp } from "./show.ts";

const NOW = new Date("2026-11-24T12:00:00Z");
const crash = (
  time: string,
  data: object = { index: 0, exit_description: "APP/PROC/WEB: Exited with status 7; cf logs" },
): AuditEvent => ({ created_at: time, type: "audit.app.process.crash", data }) as AuditEvent;

test.each([
  ["none", [], undefined],
  ["an old one", [crash("2026-11-24T10:59:00Z")], undefined],
  [
    "the first restart",
    [crash("2026-11-24T11:59:00Z")],
    "1 in the last hour; the last at 2026-11-24T11:59:00Z, instance #0: APP/PROC/WEB: Exited with status 7",
  ],
  [
    "a loop, and an old one",
    [crash("2026-11-24T11:59:00Z", {}), crash("2026-11-24T11:58:00Z"), crash("2026-11-23T11:59:00Z")],
    "2 in the last hour; the last at 2026-11-24T11:59:00Z",
  ],
])("%s", (_, crashes, expected) => expect(describeCrashes(crashes, NOW)).toBe(expected));

test.each([true, false])(
  "cup app of an app that runs again tells of its crash, if its person may know: %s",
  async (may) => {
    const event = crash(new Date().toISOString());
    const api = {
      base: "https://api.example.test",
      list: (path: string) =>
        Promise.resolve(
          path.endsWith("/processes") ? [{ guid: "p", type: "web", instances: 1, memory_in_mb: 64 }] : [],
        ),
      request: (_method: string, path: string) =>
        path !== "/v3/audit_events"
          ? Promise.resolve({ resources: path.endsWith("/stats") ? [{ index: 0, state: "RUNNING", uptime: 3 }] : [] })
          : may
            ? Promise.resolve({ resources: [event] })
            : Promise.reject(new Error("no")),
    };
    const app = { guid: "a", name: "shop", state: "STARTED" };
    const { text } = await showApp({ api, app: () => Promise.resolve(app) } as unknown as Context, "shop");
    expect(text.join("\n").includes("Exited with status 7")).toBe(may);
  },
);

test("cup apps of a space with an app in a crash loop tells of its crashes", async () => {
  const now = new Date().toISOString();
  const target = (guid: string): object => ({ target: { guid } });
  const events = [crash(now), crash(now), crash("2020-01-01T00:00:00Z")].map((one) => ({ ...one, ...target("a") }));
  const droplet = { current_droplet: { data: { guid: "d" } } };
  const apps = ["a", "b"].map((guid) => ({ guid, name: `app-${guid}`, state: "STARTED", relationships: droplet }));
  const api = {
    base: "https://api.example.test",
    list: (path: string) =>
      Promise.resolve(path === "/v3/apps" ? apps : path.endsWith("/processes") ? [{ guid: "p", type: "web" }] : []),
    request: (_method: string, path: string) =>
      Promise.resolve({ resources: path === "/v3/audit_events" ? events : [{ index: 0, state: "RUNNING" }] }),
  };
  const space = { guid: "s", name: "dev" };
  const { text, json } = await listApps({ api, space: () => Promise.resolve(space) } as unknown as Context);
  expect(text.find((line) => line.includes("app-a"))).toMatch(/running, 2 crashes in the last hour/);
  expect(text.find((line) => line.includes("app-b"))).not.toMatch(/crash/);
  expect(json).toMatchObject([{ crashes: 2 }, { crashes: 0 }]);
});

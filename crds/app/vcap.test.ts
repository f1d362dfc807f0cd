// VCAP_APPLICATION, VCAP_SERVICES and DATABASE_URL as Cloud Foundry gives them.
import { describe, expect, test } from "vitest";
import { isPlatformVariable, systemEnv, vcapApplication } from "./vcap.ts";

const base = {
  apiURL: "http://localhost:8080",
  app: { guid: "a", name: "Shop" },
  space: { guid: "s", name: "dev" },
  org: { guid: "o", name: "acme" },
  uris: ["shop.example.com"],
};

describe("VCAP_APPLICATION", () => {
  test("a running process gets its limits, process and version, but no users", () => {
    expect(
      vcapApplication({
        ...base,
        limits: { memoryMB: 256, diskMB: 512 },
        process: { guid: "p", type: "web" },
        version: "v",
      }),
    ).toEqual({
      cf_api: "http://localhost:8080",
      limits: { fds: 16384, mem: 256, disk: 512 },
      application_name: "Shop",
      application_uris: ["shop.example.com"],
      name: "Shop",
      space_name: "dev",
      space_id: "s",
      organization_id: "o",
      organization_name: "acme",
      uris: ["shop.example.com"],
      process_id: "p",
      process_type: "web",
      application_id: "a",
      version: "v",
      application_version: "v",
    });
  });

  test("cf env shows no limits of memory and no version", () => {
    const shown = vcapApplication(base);
    expect(shown).toMatchObject({ limits: { fds: 16384 }, users: null });
    expect(Object.keys(shown)).not.toContain("version");
  });
});

describe("system environment", () => {
  test("nothing bound", () => expect(systemEnv([])).toEqual({ VCAP_SERVICES: "{}" }));
  test("services are grouped, and the first database gives DATABASE_URL", () => {
    const env = systemEnv([
      { label: "mail", credentials: { uri: "smtp://x" } },
      { label: "db", credentials: { uri: "mysql://u:p@h/d" } },
      { label: "db", credentials: { uri: "postgresql://h/d" } },
    ]);
    expect(env.DATABASE_URL).toBe("mysql2://u:p@h/d");
    expect(Object.keys(JSON.parse(env.VCAP_SERVICES) as object)).toEqual(["mail", "db"]);
  });
  test("names that objects have by themselves are names like others", () => {
    const env = systemEnv([
      { label: "constructor", credentials: { uri: "constructor://x" } },
      { label: "__proto__", credentials: { uri: "toString://x" } },
    ]);
    const services = JSON.parse(env.VCAP_SERVICES) as object;
    expect(Object.entries(services).map(([label, list]) => [label, (list as unknown[]).length])).toEqual([
      ["constructor", 1],
      ["__proto__", 1],
    ]);
    expect(env).not.toHaveProperty("DATABASE_URL");
  });
  test.each([
    ["VCAP_SERVICES", true],
    ["vcap_x", true],
    ["PORT", true],
    ["port", true],
    ["PORTS", false],
    ["MY_VCAP_", false],
  ])("%s is the platform's: %s", (name, expected) => {
    expect(isPlatformVariable(name)).toBe(expected);
  });
});

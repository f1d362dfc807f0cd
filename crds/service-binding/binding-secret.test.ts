// A broker's credentials come back from the binding's Secret as they were, whatever their names.
import { expect, test } from "vitest";
import { LABELS } from "../labels.ts";
import { readBindingContent, toBindingData, type BindingContent } from "./binding-secret.ts";

const secret = (data: Record<string, string>) => ({
  apiVersion: "v1",
  kind: "Secret",
  metadata: { name: "b-binding", labels: { [LABELS.serviceBinding]: "g" } },
  data,
});
const base64 = (text: string): string => Buffer.from(text).toString("base64");

test.each<[string, BindingContent, string[]]>([
  ["plain credentials", { credentials: { user: "u", port: 1 } }, ["credentials", "port", "provider", "type", "user"]],
  [
    "credentials with names that have a meaning of their own",
    { credentials: { volume_mounts: "x", syslog_drain_url: "y", type: "z", credentials: "c" } },
    ["credentials", "provider", "type"],
  ],
  [
    "names that are no keys",
    { credentials: { ".": "a", "..": "b", "..x": "c", "a b": "d" } },
    ["credentials", "provider", "type"],
  ],
  [
    "a drain and volumes",
    {
      credentials: {},
      syslogDrainURL: "syslog://h",
      routeServiceURL: "https://r",
      volumeMounts: [{ driver: "d" }],
    },
    ["credentials", "provider", "route_service_url", "syslog_drain_url", "type", "volume_mounts"],
  ],
])("%s", (_, content, keys) => {
  const data = toBindingData(content, "pg");
  expect(Object.keys(data).sort()).toEqual(keys);
  expect(Buffer.from(data["type"] ?? "", "base64").toString()).toBe("pg");
  expect(readBindingContent(secret(data), "g")).toEqual(content);
});

test("volumes that a person wrote wrongly are none", () => {
  expect(readBindingContent(secret({ volume_mounts: base64("{") }), "g")).toEqual({
    credentials: { volume_mounts: "{" },
    volumeMounts: [],
  });
});

// Whose Secret holds a service instance's credentials, and what it says.
import { expect, test } from "vitest";
import { INTERNAL_LABELS, LABELS } from "../labels.ts";
import { isCredentialsSecret, readCredentials, toSecretData } from "./credentials.ts";

const base64 = (text: string): string => Buffer.from(text).toString("base64");
const secret = (name: string, labels: Record<string, string>) => ({
  apiVersion: "v1",
  kind: "Secret",
  metadata: { name, labels },
});

test.each([
  ["its own", "db-credentials", { [LABELS.serviceInstance]: "g1" }, true],
  ["of another instance of that name before", "db-credentials", { [LABELS.serviceInstance]: "g2" }, false],
  ["of its GUID by another name", "other", { [LABELS.serviceInstance]: "g1" }, false],
  ["labelled for environments", "other", { [INTERNAL_LABELS.envAllowed]: "allowed" }, true],
  ["anybody's", "db-credentials", {}, false],
])("a Secret that is %s", (...[, name, labels, allowed]) => {
  expect(isCredentialsSecret(secret(name, labels), "db", "g1")).toBe(allowed);
});

test.each([
  ["what the API writes", toSecretData({ a: { b: [1] } }), { a: { b: [1] } }],
  ["a key for each credential", { user: base64("u"), uri: base64("postgres://x") }, { user: "u", uri: "postgres://x" }],
  ["nothing", {}, {}],
  ["no JSON", { credentials: base64("{") }, undefined],
  ["a list", { credentials: base64("[1]") }, undefined],
])("credentials of %s", (_, data, credentials) => {
  expect(readCredentials({ data })).toEqual(credentials);
});

// The address that links begin with, by the request's host.
import { expect, test } from "vitest";
import { requestBase } from "./request-base.ts";

const url = "https://api.example.org";
const otherHosts = ["login.example.org"];

test.each([
  ["without a public address, the request's", {}, "localhost:8080", "http://localhost:8080"],
  ["a host that is none", {}, "a b<script>", "http://localhost"],
  ["the public address", { url, otherHosts }, "10.0.0.1:8443", url],
  ["another host of the API", { url, otherHosts }, "login.example.org", "https://login.example.org"],
  ["with its port", { url, otherHosts }, "LOGIN.example.org:8443", "https://LOGIN.example.org:8443"],
])("%s", (_what, address, host, base) => {
  expect(requestBase(address, { protocol: "http", host })).toBe(base);
});

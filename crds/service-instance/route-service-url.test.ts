// The addresses that a route service may have.
import { expect, test } from "vitest";
import { isRouteServiceURL } from "./route-service-url.ts";

test.each([
  ["https://logger.example.org", true],
  ["https://logger.example.org:8443/path?query", true],
  ["http://logger.apps.localhost:8080", true],
  ["http://logger.example.org", false],
  ["http://localhost:8080", false],
  ["http://127.0.0.1", false],
  ["https://user:secret@logger.example.org", false],
  ["ftp://logger.example.org", false],
  ["logger.example.org", false],
  ["", false],
])("%s: %s", (url, is) => {
  expect(isRouteServiceURL(url)).toBe(is);
});

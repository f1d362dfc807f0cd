// Which requests become a line of the log.
import { expect, test } from "vitest";
import { isLogged } from "./request-log.ts";

test.each([
  ["a read", { method: "GET", status: 200, milliseconds: 20, heldMilliseconds: 0 }, false],
  ["a read of nothing", { method: "GET", status: 404, milliseconds: 20, heldMilliseconds: 0 }, false],
  ["a write", { method: "PATCH", status: 200, milliseconds: 20, heldMilliseconds: 0 }, true],
  ["a refused write", { method: "POST", status: 422, milliseconds: 2, heldMilliseconds: 0 }, true],
  ["a fault", { method: "GET", status: 503, milliseconds: 2, heldMilliseconds: 0 }, true],
  ["a slow read", { method: "GET", status: 200, milliseconds: 1_500, heldMilliseconds: 0 }, true],
  ["a read that was held", { method: "GET", status: 200, milliseconds: 4_000, heldMilliseconds: 3_900 }, false],
] as const)("%s", (_what, request, logged) => expect(isLogged(request)).toBe(logged));

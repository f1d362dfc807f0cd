// Options of routes: CF's words for wrong ones, merging, and `hash` behind its feature flag.
import { expect, test } from "vitest";
import type { RouteOptions } from "../../../crds/route/route.ts";
import { findOptionProblems, mergeRouteOptions, presentRouteOptions, type RouteOptionsInput } from "./route-options.ts";

const hash = { loadbalancing: "hash", hash_header: "X-User" };

test.each<[RouteOptionsInput, boolean, string[]]>([
  [{}, false, []],
  [{ loadbalancing: null, hash_header: null, hash_balance: "" }, false, []],
  [{ loadbalancing: "least-connection" }, false, []],
  [
    hash,
    false,
    ["Loadbalancing must be one of 'round-robin, least-connection' if present", "Unknown field(s): 'hash_header'"],
  ],
  [{ hash_header: "X", hash_balance: 2 }, false, ["Unknown field(s): 'hash_header', 'hash_balance'"]],
  [hash, true, []],
  [{ loadbalancing: 5 }, true, ["Loadbalancing must be one of 'round-robin, least-connection, hash' if present"]],
  [{ hash_header: "x".repeat(129) }, true, ["Hash header must be at most 128 characters"]],
  [{ hash_header: {} }, true, ["Hash header must be a string"]],
  ...["X User", "X-User:", "X\n", "é"].map((header): [RouteOptionsInput, boolean, string[]] => [
    { hash_header: header },
    true,
    ["Hash header must be the name of an HTTP header, as in X-Session-ID"],
  ]),
  ...["0", 0, "1.1", 10, "1.25"].map((value): [RouteOptionsInput, boolean, string[]] => [
    { ...hash, hash_balance: value },
    true,
    [],
  ]),
  ...["1", 10.1, "-1.5"].map((value): [RouteOptionsInput, boolean, string[]] => [
    { hash_balance: value },
    true,
    ["Hash balance must be either 0 or between 1.1 and 10.0"],
  ]),
  [{ hash_balance: "much" }, true, ["Hash balance must be a numeric value"]],
  [{ hash_balance: "0x2" }, true, ["Hash balance must be a numeric value"]],
  [{ hash_balance: "1".repeat(17) }, true, ["Hash balance must be at most 16 characters"]],
  [
    { loadbalancing: "round-robin", hash_header: "X", hash_balance: "2" },
    true,
    [
      "Hash header can only be set when loadbalancing is hash",
      "Hash balance can only be set when loadbalancing is hash",
    ],
  ],
])("problems of %j with the flag %s", (options, isHashAllowed, problems) => {
  expect(findOptionProblems(options, isHashAllowed)).toEqual(problems);
});

test.each<[RouteOptions | undefined, RouteOptionsInput, RouteOptions | "refused"]>([
  [undefined, {}, {}],
  [undefined, { loadbalancing: "round-robin" }, { loadbalancing: "round-robin" }],
  [{ loadbalancing: "round-robin" }, { loadbalancing: null }, {}],
  [{ loadbalancing: "round-robin" }, {}, { loadbalancing: "round-robin" }],
  [undefined, { ...hash, hash_balance: 1.25 }, { loadbalancing: "hash", hashHeader: "X-User", hashBalance: "1.3" }],
  [undefined, { loadbalancing: "hash" }, "refused"],
  [{ loadbalancing: "hash", hashHeader: "A" }, { hash_header: null }, "refused"],
  [
    { loadbalancing: "hash", hashHeader: "A" },
    { hash_balance: "0" },
    { loadbalancing: "hash", hashHeader: "A", hashBalance: "0.0" },
  ],
  [
    { loadbalancing: "hash", hashHeader: "A", hashBalance: "2.0" },
    { loadbalancing: "round-robin" },
    { loadbalancing: "round-robin" },
  ],
  [{ loadbalancing: "round-robin" }, { hash_header: "X" }, { loadbalancing: "round-robin" }],
])("%j with %j", (current, options, merged) => {
  if (merged === "refused") expect(() => mergeRouteOptions(current, options)).toThrow(/Hash header must be present/);
  else expect(mergeRouteOptions(current, options)).toEqual(merged);
});

test("they are shown by CF's names", () => {
  expect(presentRouteOptions({ loadbalancing: "hash", hashHeader: "A", hashBalance: "2.0" })).toEqual({
    loadbalancing: "hash",
    hash_header: "A",
    hash_balance: "2.0",
  });
});

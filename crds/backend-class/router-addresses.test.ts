// Addresses of a router, as an operator writes them.
import { expect, test } from "vitest";
import { parseRouterAddresses } from "./router-addresses.ts";

test.each([
  ["203.0.113.7", ["203.0.113.7"]],
  ["203.0.113.7, 2001:db8::7", ["203.0.113.7", "2001:db8::7"]],
  ["lb.example.org,203.0.113.999", []],
  ["", []],
  [undefined, []],
])("%s", (text, addresses) => expect(parseRouterAddresses(text)).toEqual(addresses));

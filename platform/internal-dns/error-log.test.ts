// How often the DNS server logs that it fails.
import { expect, test } from "vitest";
import { createErrorLog } from "./error-log.ts";

test("errors are logged once a minute, with the number of those that were not", () => {
  const lines: unknown[] = [];
  let now = 0;
  const report = createErrorLog({ error: (fields: unknown) => lines.push(fields) } as never, () => now);
  for (now = 0; now < 60_000; now += 20_000) report(now);
  report("later");
  now += 60_000;
  report("calm");
  expect(lines).toEqual([{ err: 0 }, { err: "later", unlogged: 2 }, { err: "calm" }]);
});

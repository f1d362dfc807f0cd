// The ports of a start, and that a home remembers them.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { homeAt, readState, writeState } from "./home.ts";
import { choosePorts } from "./ports.ts";

test.each([
  [{}, undefined, { port: 8080, kubePort: 6443 }],
  [{}, { port: 18480, kubePort: 16443 }, { port: 18480, kubePort: 16443 }],
  [{ port: 9000 }, { port: 18480, kubePort: 16443 }, { port: 9000, kubePort: 16443 }],
  [
    { port: 0, kubePort: 0 },
    { port: 18480, kubePort: 16443 },
    { port: 0, kubePort: 0 },
  ],
])("told %j, at the last start %j: %j", (told, last, expected) => {
  expect(choosePorts(told, last)).toEqual(expected);
});

test("a home keeps them beside its tokens", () => {
  const home = homeAt(mkdtempSync(join(tmpdir(), "cupola-ports-")));
  writeState(home, { tokens: { admin: "x" }, ports: { port: 9000, kubePort: 9443 } });
  expect(choosePorts({}, readState(home).ports)).toEqual({ port: 9000, kubePort: 9443 });
  rmSync(home.dir, { recursive: true });
});

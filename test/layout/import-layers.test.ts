// The rules catch what they are there to catch. Whether the checkout keeps them is layout.test.ts.
import { expect, test } from "vitest";
import { importCircles } from "./import-circles.ts";
import { importViolations } from "./import-layers.ts";
import { brokenLinks, parseSource } from "./source-tree.ts";
import { foreignWords } from "./foreign-words.ts";

test.each([
  ["crds/app/app.ts", '"../../kube/api/resource.ts"', 0],
  ["kube/controller/workqueue.ts", '"../../crds/app/app.ts"', 1],
  ["blobs/blob-store.ts", '"../telemetry/ring.ts"', 1],
  ["api/app/app.ts", '"../../controllers/app/plan.ts"', 1],
  ["backends/runners/process/process.ts", '"../../../api/errors.ts"', 1],
  ["api/app/present.ts", '"../http/errors.ts"', 0],
  ["api/app/present.ts", '"../route/present.ts"', 1],
  ["api/endpoints.ts", '"./route/route.ts"', 0],
  ["api/cf/app/app-env.ts", '"../../access/session.ts"', 0],
  ["api/access/session.ts", '"../cf/app/app-env.ts"', 1],
  ["api/access/session.test.ts", '"../cf/app/app-env.ts"', 0],
  ["api/cache/cluster-cache.ts", '"../http/errors.ts"', 1],
  ["api/lists/page.ts", '"../routing/endpoint.ts"', 1],
  ["api/lists/page.ts", '"./list-objects.ts"', 0],
  ["api/included/included.ts", '"../app/present.ts"', 0],
  ["api/included/included.ts", '"../app/payload.ts"', 1],
  ["api/jobs/jobs.ts", '"../app/present.ts"', 1],
  ["api/jobs/jobs.ts", '"../server.ts"', 1],
  ["api/app/app.ts", '"../jobs/jobs.ts"', 0],
  ["api/app/app.ts", '"../endpoints.ts"', 1],
  ["api/server.ts", '"./endpoints.ts"', 0],
  ["controllers/app/plan.ts", '"../route/plan.ts"', 1],
  ["backends/routers/local/local.ts", '"../ingress/ingress.ts"', 1],
  ["backends/routers/local/local.ts", '"../url.ts"', 0],
  ["local/apiserver/server.ts", '"../../crds/object-names.ts"', 1],
  ["local/apiserver/server.ts", '"../../kube/server/pki.ts"', 0],
  ["cli/main.ts", '"../test/cluster/control-plane.ts"', 1],
  ["scripts/test.ts", '"../test/cluster/binaries.ts"', 0],
  ["crds/app/app.ts", '"node:fs/promises"', 1],
  ["crds/guid.ts", '"node:crypto"', 0],
])("%s importing %s: %i violations", (path, specifier, count) => {
  const forms = [
    `import { a } from ${specifier};`,
    `import {\n  a,\n  type B,\n} from ${specifier};`,
    `export { a } from ${specifier};`,
    `const a = await import(${specifier});`,
  ];
  for (const text of forms) expect(importViolations([parseSource(path, text)]), text).toHaveLength(count);
});

test.each([
  ["no imports", { a: [], b: [] }, []],
  ["a chain", { a: ["b"], b: ["c"], c: [] }, []],
  ["two paths to one file", { a: ["b", "c"], b: ["d"], c: ["d"], d: [] }, []],
  ["two files", { b: ["a"], a: ["b"] }, [["a", "b"]]],
  ["a file that imports itself", { a: ["a"] }, [["a"]]],
  ["a circle behind a chain", { a: ["b"], b: ["c"], c: ["d"], d: ["b", "gone"] }, [["b", "c", "d"]]],
  ["two circles that share a file are one", { a: ["b"], b: ["a", "c"], c: ["b"] }, [["a", "b", "c"]]],
  [
    "two circles, one behind the other",
    { c: ["d"], d: ["c"], a: ["b", "c"], b: ["a"] },
    [
      ["a", "b"],
      ["c", "d"],
    ],
  ],
])("circles of %s", (_what, graph: Record<string, string[]>, circles) => {
  expect(importCircles(Object.entries(graph).map(([path, imports]) => ({ path, imports })))).toEqual(circles);
});

test("a type-only import counts for a circle", () => {
  const files = [
    parseSource("kube/a.ts", 'import type { B } from "./b.ts";'),
    parseSource("kube/b.ts", 'import { type A } from "./a.ts";'),
  ];
  expect(importCircles(files)).toEqual([["kube/a.ts", "kube/b.ts"]]);
});

test.each([
  ["the droplet is staged", ["droplet"]],
  ["appDroplets", ["Droplet"]],
  ["label cupola.dev/x", ["cupola"]],
  ["CF_INSTANCE", ["CF_INSTANCE"]],
  ["a cfg of lrpc and guidance, in the name space of an organization", []],
])("words of %j", (text, words) => {
  expect(foreignWords(text)).toEqual(words);
});

test("a link that leads nowhere is found, code and web addresses are left alone", () => {
  const text = "[a](../../package.json) [b](nowhere.md#x) `[c](gone.md)` [d](https://example.com/x.md)";
  expect(brokenLinks("docs/adr/x.md", text)).toEqual([
    "docs/adr/x.md links to docs/adr/nowhere.md, which does not exist",
  ]);
});

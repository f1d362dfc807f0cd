// Messages at Ctrl-C.
import { expect, test } from "vitest";
import { afterInterrupt } from "./interrupt.ts";

test.each([
  ["uploading" as const, "shop", { path: "~/shop" }, "Next: cup push shop --path ~/shop"],
  ["building" as const, "shop", { manifest: "m.yml" }, "or again: cup push shop --manifest m.yml"],
  ["building" as const, "x y", {}, "Next: cup logs 'x y', or again: cup push 'x y'"],
])("Ctrl-C while %s %s: the next step pushes the same again", (phase, app, options, said) => {
  expect(afterInterrupt({ phase, app }, options)).toMatch(new RegExp(`${said}$`));
});

// Uses of a droplet at each step of its life.
import { expect, test } from "vitest";
import { aDroplet } from "../testing/objects.ts";
import type { Droplet } from "./droplet.ts";
import { isAwaitingUpload, isComplete, needsImage, toRunnable } from "./rules.ts";

const content = { digest: `sha256:${"a".repeat(64)}`, size: 1 };
const file = { kind: "host", image: undefined, content } as const;

test.each<[string, Partial<Droplet["spec"]>, Droplet["status"], string]>([
  ["before its upload", { kind: "host", image: undefined }, undefined, "awaits its upload"],
  ["unpacked at its root", { ...file, root: "/x" }, undefined, "complete"],
  ["a file", file, undefined, "needs an image"],
  ["a file that became an image", file, { image: "r/x@sha256:b" }, "complete"],
  ["an image", { kind: "cnb", image: "r/x" }, undefined, "complete"],
])("%s", (_what, spec, status, expected) => {
  const droplet = { ...aDroplet(spec, "d"), status } as Droplet;
  const is = isComplete(droplet) ? "complete" : isAwaitingUpload(droplet) ? "awaits its upload" : "needs an image";
  expect(is).toBe(expected);
});

test("the image of a file runs in its place; an image that somebody wrote beside another droplet does not", () => {
  const status = { image: "r/x@sha256:b", imagePullSecretRef: { name: "s" } };
  const of = (spec: Partial<Droplet["spec"]>) => toRunnable({ ...aDroplet(spec, "d"), status } as Droplet);
  expect(of(file)).toEqual({ kind: "cnb", ...status });
  expect(of({ ...file, root: "/x" })).toEqual({ kind: "host", content, root: "/x" });
  expect(of({ kind: "docker", image: "own" })).toEqual({ kind: "docker", image: "own" });
  expect(needsImage(aDroplet({ kind: "docker", image: "own" }, "d"))).toBe(false);
});

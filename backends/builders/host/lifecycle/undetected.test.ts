// Messages about a folder that no buildpack fits.
import { expect, test } from "vitest";
import { describeUndetected, type FolderEntry } from "./undetected.ts";

const entries = (...names: string[]): FolderEntry[] =>
  names.map((name) => ({ name: name.replace(/\/$/, ""), isDirectory: name.endsWith("/") }));

test.each<[string, string[], RegExp]>([
  [
    "a Dockerfile",
    ["Dockerfile", "src/"],
    /it has Dockerfile, src\/, which is a recipe for an image\. Next: .*--docker-image/,
  ],
  ["Rust", ["Cargo.toml", "src/"], /a Rust project\. Next: .*Procfile/],
  [".NET", ["Shop.csproj", "Program.cs"], /a \.NET project\. Next: dotnet publish -o out, .*\(-p out\)/],
  ["Gleam", ["gleam.toml", "src/"], /a Gleam project\. Next: gleam export erlang-shipment, /],
  ["Hugo", ["hugo.toml", "content/"], /a Hugo site\. Next: run hugo, and push what it writes \(-p public\)/],
  ["scripts without package.json", ["start.mjs"], /it has start.mjs, which is JavaScript\. Next: add a package.json/],
  ["the app is in a folder", ["shop/"], /it has shop\/\. Next: push that folder \(-p shop\)/],
  ["anything", ["a.bin", "b/"], /it has a.bin, b\/\. Next: push another folder/],
  ["nothing", [], /the folder is empty\. Next: push another folder/],
  ["many files", Array.from({ length: 20 }, (_, at) => `f${at}`), /it has f0, .* and 12 more\./],
])("%s", (_name, names, expected) => {
  expect(describeUndetected(entries(...names), ["go: no go.mod"])).toMatch(expected);
});

test("it says what the buildpacks looked for", () => {
  expect(describeUndetected([], ["cupola/go: no go.mod"])).toMatch(/The buildpacks said: cupola\/go: no go.mod$/);
});

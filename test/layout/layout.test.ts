// The checkout keeps the rules of CONTRIBUTING.md: who imports whom, where a kind's files are, sizes, names, and documents that are true.
import { matchesGlob } from "node:path";
import { describe, expect, test } from "vitest";
import { DEFINITIONS } from "../../crds/definitions.ts";
import { clauseComments } from "./comments.ts";
import { forLater, longFiles, remainingCircles, withoutPlan } from "./exemptions.ts";
import { importCircles } from "./import-circles.ts";
import { importViolations, isKindFolder, layers, sharedFolders } from "./import-layers.ts";
import { brokenLinks, exists, foldersIn, listFiles, reachedFrom, readSources, readText } from "./source-tree.ts";
import { foreignWords } from "./foreign-words.ts";

const sources = readSources();
const paths = sources.map((file) => file.path);
/** Files that npm, bin/run.js, a thread or a process of its own starts. */
const STARTED = [
  "scripts/**/*.ts",
  "platform/{cupola,settings-job}.ts",
  "platform/probe/probe.ts",
  "cli/cup.ts",
  "backends/builders/host/build-process.ts",
  "kube/yaml/yaml-worker.ts",
];
const markdown = listFiles("**/*.md").filter((path) => !path.includes("/testdata/"));

describe("the ladder", () => {
  test("imports point one way", () => {
    expect(importViolations(sources)).toEqual([]);
  });

  test("no files import each other in a circle, type-only imports included", () => {
    const circles = importCircles(sources);
    const within = (circle: readonly string[], files: readonly string[]) =>
      circle.every((path) => files.includes(path));
    expect(circles.filter((circle) => !remainingCircles.some((files) => within(circle, files)))).toEqual([]);
    expect(
      remainingCircles.filter((files) => !circles.some((circle) => within(circle, files))),
      "circles that are gone: remove them from test/layout/exemptions.ts",
    ).toEqual([]);
  });

  test("every folder that a rule names exists", () => {
    expect([...layers.flat(), ...sharedFolders].filter((folder) => !exists(folder))).toEqual([]);
  });

  test.each(["kube/", "local/apiserver/"])("%s has no word of CF", (folder) => {
    const found = sources
      .filter((file) => file.path.startsWith(folder))
      .flatMap((file) => foreignWords(file.text).map((word) => `${file.path}: ${word}`));
    expect([...new Set(found)]).toEqual([]);
  });
});

describe("sources", () => {
  test("that only tests use are in a folder testing/", () => {
    const starts = paths.filter(
      (path) => !path.endsWith(".test.ts") && STARTED.some((pattern) => matchesGlob(path, pattern)),
    );
    expect(STARTED.filter((pattern) => !paths.some((path) => matchesGlob(path, pattern)))).toEqual([]);
    const reached = reachedFrom(starts, sources);
    const unused = paths.filter(
      (path) => !/^(test|scripts)\/|\.test\.ts$|\/testing\//.test(path) && !reached.has(path),
    );
    expect(unused.filter((path) => !Object.keys(forLater).some((start) => path.startsWith(start)))).toEqual([]);
    expect(
      Object.keys(forLater).filter((start) => !unused.some((path) => path.startsWith(start))),
      "exemptions that nobody needs",
    ).toEqual([]);
  });
});

describe("servers", () => {
  test("are made by kube/server/listener.ts, so that every one has its limits", () => {
    const makes = /import[^;]*\bcreateServer\b[^;]*from "node:https?"/;
    const found = sources.filter(({ path, text }) => makes.test(text) && !/^test\/|\.test\.ts$|\/testing\//.test(path));
    expect(found.map(({ path }) => path)).toEqual(["kube/server/listener.ts"]);
  });
});

describe("the paths of a kind", () => {
  const kinds = foldersIn("crds").filter((name) => name !== "testing");

  test("crds/ has one folder per kind, named after it", () => {
    expect(kinds.filter((kind) => !exists(`crds/${kind}/${kind}.ts`))).toEqual([]);
    expect(DEFINITIONS.map((definition) => kebab(definition.kind)).sort()).toEqual(kinds);
  });

  test("a kind in one list is in the others, too", () => {
    const rows = readText("api/endpoints.ts");
    const controllers = readText("controllers/controllers.ts") + readText("controllers/guid-controllers.ts");
    const unlisted = kinds.filter(
      (kind) => exists(`api/${kind}/${kind}.ts`) && !rows.includes(`"./${kind}/${kind}.ts"`),
    );
    expect(unlisted.map((kind) => `api/endpoints.ts has no rows of api/${kind}/; add them`)).toEqual([]);
    const idle = kinds.filter(
      (kind) =>
        (exists(`api/${kind}/${kind}.ts`) || exists(`controllers/${kind}/${kind}.ts`)) &&
        // The app's controller makes Revisions whole; platform/operations/ writes UsageLogs and ServiceUsageLogs.
        !["revision", "usage-log", "service-usage-log"].includes(kind) &&
        !controllers.includes(`/${kind}/${kind}.ts"`),
    );
    expect(
      idle.map((kind) => `no controller is for ${kind}; list one in controllers/controllers.ts or guid-controllers.ts`),
    ).toEqual([]);
  });

  test("the chart has one file per kind", () => {
    const files = listFiles("deploy/helm/cupola/files/crds/*.yaml").map((path) => readText(path));
    const missing = DEFINITIONS.filter(
      (definition) => !files.some((text) => text.includes(`\n  name: ${definition.plural}.${definition.group}\n`)),
    );
    expect(missing.map((definition) => definition.kind)).toEqual([]);
    expect(files).toHaveLength(DEFINITIONS.length);
  });

  test.skipIf(!exists("docs/kinds"))("docs/kinds/ has one page per kind", () => {
    expect(
      listFiles("docs/kinds/*.md")
        .map((path) => path.replace(/^docs\/kinds\/|\.md$/g, ""))
        .sort(),
    ).toEqual(kinds);
  });

  test("a folder has an entry file of its own name", () => {
    const folders = ["api", "controllers"]
      .flatMap((rung) => foldersIn(rung).map((name) => `${rung}/${name}`))
      .filter(isKindFolder);
    const classes = ["builders", "runners", "routers"].flatMap((role) =>
      foldersIn(`backends/${role}`).map((name) => `backends/${role}/${name}`),
    );
    const withFiles = [...folders, ...classes].filter((folder) => paths.some((path) => path.startsWith(`${folder}/`)));
    expect(withFiles.filter((folder) => !exists(`${folder}/${folder.split("/").at(-1)}.ts`))).toEqual([]);
  });

  test("a controller decides in plan.ts, which neither reads nor writes", () => {
    const folders = foldersIn("controllers")
      .map((name) => `controllers/${name}`)
      .filter(isKindFolder)
      .filter((folder) => exists(`${folder}/${folder.split("/")[1]}.ts`));
    expect(folders.filter((folder) => !exists(`${folder}/plan.ts`) && !withoutPlan[folder])).toEqual([]);
    expect(
      Object.keys(withoutPlan).filter((folder) => exists(`${folder}/plan.ts`) || !exists(folder)),
      "exemptions that nobody needs",
    ).toEqual([]);
  });
});

describe("files", () => {
  test("none has more than 500 lines, and more than 300 only with a reason", () => {
    const tooLong = sources.filter((file) => file.lines > 500).map((file) => `${file.path}: ${file.lines} lines`);
    expect(tooLong).toEqual([]);
    const long = sources.filter((file) => file.lines > 300 && !longFiles[file.path]);
    for (const file of long)
      console.warn(
        `warning: ${file.path} has ${file.lines} lines; split it by what it does, or give the reason in test/layout/exemptions.ts`,
      );
    expect(
      Object.keys(longFiles).filter((path) => !sources.some((file) => file.path === path && file.lines > 300)),
      "exemptions that nobody needs",
    ).toEqual([]);
  });

  test("each states its purpose in the first line", () => {
    expect(sources.filter((file) => !/^(\/\/ \S|#!)/.test(file.text)).map((file) => file.path)).toEqual([]);
  });

  test("no comment begins with What, Who, Of or One", () => {
    expect(clauseComments("  /** What it is. */\nconst a = 1; // One\n// Ones\n// Of it.")).toHaveLength(2);
    const found = sources.flatMap(({ path, text }) => clauseComments(text).map((comment) => `${path}: ${comment}`));
    expect(found).toEqual([]);
  });

  test("names are kebab-case and descriptive", () => {
    const bad = paths.filter((path) =>
      path
        .split("/")
        .some(
          (part) =>
            !/^[a-z0-9][a-z0-9-]*(\.[a-z0-9-]+)*$/.test(part) ||
            /^(utils?|helpers?|manager|impl|misc|common|index)(\.|$)/.test(part) ||
            /-(manager|impl|utils?|helpers?)\./.test(part),
        ),
    );
    expect(bad).toEqual([]);
  });

  test("nothing is exported by default", () => {
    expect(
      sources
        .filter((file) => /^export default\b/m.test(file.text) && !file.path.endsWith(".config.ts"))
        .map((file) => file.path),
    ).toEqual([]);
  });

  test("none names a path of one machine or the host of a registry", () => {
    const files = [...paths, ...markdown, "package.json", "package-lock.json", ".npmrc"].filter(
      (path) => !path.startsWith("test/layout/"),
    );
    const personal = /\/work\/(main|shared)\b|\/root\/|"resolved": "https?:/;
    expect(files.filter((path) => exists(path) && personal.test(readText(path)))).toEqual([]);
  });
});

describe("documents", () => {
  test("relative links resolve", () => {
    expect(markdown.flatMap((path) => brokenLinks(path, readText(path)))).toEqual([]);
  });

  test("docs/ARCHITECTURE.md names every folder, but for those of one kind, class or noun", () => {
    const rows = readText("docs/ARCHITECTURE.md").split("\n");
    const isNamed = (folder: string): boolean => {
      const [top = "", name = ""] = folder.split("/");
      const ofTop = rows.find((row) => row.startsWith(`| \`${top}/\` |`)) ?? "";
      return rows.some((row) => row.startsWith(`| \`${folder}/\` |`)) || ofTop.includes(`\`${name}/\``);
    };
    const folders = paths.flatMap((path) => {
      const [top = "", name = "", file] = path.split("/");
      return file === undefined ? [top] : [top, `${top}/${name}`];
    });
    const ofOneKind = (folder: string): boolean => isKindFolder(folder) || /^(crds|cli)\/./.test(folder);
    expect([...new Set(folders)].filter((folder) => !ofOneKind(folder) && !isNamed(folder)).sort()).toEqual([]);
  });

  test("each decision record has a number of its own and a status; a superseded one links on", () => {
    const records = listFiles("docs/adr/*.md").filter((path) => /\/\d/.test(path));
    const numbers = records.map(
      (path) => /\/(\d{4})-[a-z0-9-]+\.md$/.exec(path)?.[1] ?? `not named NNNN-title.md: ${path}`,
    );
    expect(numbers).toEqual(numbers.map((_, at) => String(at + 1).padStart(4, "0")));
    const status = /^Status: (Proposed|Accepted|Rejected|Superseded by \[\d{4}\]\(\d{4}-[a-z0-9-]+\.md\))$/m;
    expect(records.filter((path) => !status.test(readText(path)))).toEqual([]);
  });

  test("docs/dependencies.md has one line for each dependency", () => {
    const manifest = JSON.parse(readText("package.json")) as Record<string, Record<string, string> | undefined>;
    const wanted = ["dependencies", "devDependencies", "optionalDependencies"].flatMap((section) =>
      Object.keys(manifest[section] ?? {}),
    );
    const rows = [...readText("docs/dependencies.md").matchAll(/^\| ((?:`[^`|]+`(?:, )?)+) \|/gm)];
    const listed = rows.flatMap((row) => [...row[1]!.matchAll(/`([^`]+)`/g)].map((name) => name[1]!));
    expect(listed.sort()).toEqual(wanted.sort());
  });

  test("docs/status.md names only tests that exist", () => {
    const named = [...readText("docs/status.md").matchAll(/`([a-z][\w./-]*\/[\w./-]+)`/g)].map((match) => match[1]!);
    expect(named.filter((path) => !exists(path))).toEqual([]);
    expect(named.length).toBeGreaterThan(0);
  });
});

function kebab(kind: string): string {
  return kind.replace(/([a-z])([A-Z])|([A-Z])(?=[A-Z][a-z])/g, "$1$3-$2").toLowerCase();
}

// Why no buildpack fits: what the app's folder holds, and the next step for that. Pure.

/** An entry of the app's folder. */
export interface FolderEntry {
  name: string;
  isDirectory: boolean;
}

/** Files that tell what an app is, where none of the bundled buildpacks helps; the first match wins. */
const signs: readonly [pattern: RegExp, is: string, next: string][] = [
  [
    /^(Dockerfile|Containerfile)$/,
    "a recipe for an image",
    "build and publish the image, and push it with --docker-image where a runner takes images; or write a Procfile",
  ],
  [
    /^Cargo\.toml$/,
    "a Rust project",
    "cargo build --release, put target/release/PROGRAM and a Procfile (web: ./PROGRAM) into a folder, and push that (-p FOLDER); or name a buildpack for Rust (-b)",
  ],
  [
    /\.(cs|fs|vb)proj$|\.slnx?$/,
    "a .NET project",
    "dotnet publish -o out, write out/Procfile (web: dotnet PROGRAM.dll --urls http://*:$PORT), and push that folder (-p out); or name a buildpack (-b)",
  ],
  [
    /^gleam\.toml$/,
    "a Gleam project",
    "gleam export erlang-shipment, write build/erlang-shipment/Procfile (web: ./entrypoint.sh run), and push that folder (-p build/erlang-shipment)",
  ],
  [/^hugo\.(toml|ya?ml|json)$/, "a Hugo site", "run hugo, and push what it writes (-p public)"],
  [/^_config\.ya?ml$/, "a Jekyll site", "run jekyll build, and push what it writes (-p _site)"],
  [/^mkdocs\.ya?ml$/, "a site of MkDocs", "run mkdocs build, and push what it writes (-p site)"],
  [/^mix\.exs$/, "an Elixir project", "name a buildpack for Elixir (-b)"],
  [/^(build\.sbt|project\.clj)$/, "a Scala or Clojure project", "push the executable jar that its build makes"],
  [/^deno\.jsonc?$/, "a Deno project", "write a Procfile (web: deno task start)"],
  [/\.war$/, "a war", "make it an executable jar"],
  [/^(Makefile|CMakeLists\.txt)$/, "a project that is compiled", "push the program with a Procfile (web: ./program)"],
  [/\.(js|mjs|cjs|ts)$/, "JavaScript", "add a package.json (npm init) with a script start"],
  [/\.py$/, "Python", "add a requirements.txt, and name the program main.py or app.py, or write a Procfile"],
  [/\.go$/, "Go", "add a go.mod (go mod init)"],
  [/\.java$/, "Java", "add a pom.xml or build.gradle, or push an executable jar"],
  [/\.php$/, "PHP", "name the page index.php"],
  [/\.html?$/, "pages", "name one index.html, or add an empty Staticfile"],
];
const maxNames = 8;

/** A sentence with what was found, and the next step. `looked` is what each buildpack looked for. */
export function describeUndetected(entries: readonly FolderEntry[], looked: readonly string[]): string {
  const names = entries.map(({ name, isDirectory }) => (isDirectory ? `${name}/` : name)).toSorted();
  const rest = names.length - maxNames;
  const found = `${names.slice(0, maxNames).join(", ")}${rest > 0 ? ` and ${rest} more` : ""}`;
  const folders = entries.filter(({ isDirectory }) => isDirectory);
  const [onlyFolder] = folders;
  const sign = signs.find(([pattern]) => entries.some(({ name, isDirectory }) => !isDirectory && pattern.test(name)));
  const what = names.length === 0 ? "the folder is empty" : `it has ${found}${sign ? `, which is ${sign[1]}` : ""}`;
  const next =
    sign?.[2] ??
    (onlyFolder && folders.length === entries.length && folders.length === 1
      ? `push that folder (-p ${onlyFolder.name})`
      : "push another folder (-p FOLDER), name a buildpack (-b), or write a Procfile (web: COMMAND)");
  return `none of the buildpacks fits the app: ${what}. Next: ${next}. The buildpacks said: ${looked.join("; ") || "there are none"}`;
}

// The lifecycle with small shell buildpacks: detection, data between buildpacks, layers, cache, launch and error messages.
import { execFile } from "node:child_process";
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { afterEach, beforeEach, expect, test } from "vitest";
import { hostEnvironment } from "../../../host/host-environment.ts";
import { prepareLaunch } from "../../../host/prepare-launch.ts";
import { toProcessTypes } from "../../../host/droplet-metadata.ts";
import { thisMachine } from "./buildpack.ts";
import { runLifecycle } from "./lifecycle.ts";

const run = promisify(execFile);
let directory: string;
let lines: string[];
let builds = 0;
let root: string;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "cupola-lifecycle-"));
  lines = [];
  root = join(directory, "droplets", "b0");
});
afterEach(() => rm(directory, { recursive: true, force: true }));

interface Scripts {
  detect?: string;
  build?: string;
  toml?: string;
  api?: string;
}

/** Writes a buildpack of two shell scripts and returns its folder. */
async function buildpack(
  id: string,
  { detect = "exit 0", build = "exit 0", toml = "", api = "0.10" }: Scripts,
): Promise<string> {
  const folder = join(directory, "buildpacks", id.replaceAll("/", "_"));
  await mkdir(join(folder, "bin"), { recursive: true });
  await writeFile(
    join(folder, "buildpack.toml"),
    `api = "${api}"\n[buildpack]\nid = "${id}"\nversion = "1.2.3"\n${toml}\n[[stacks]]\nid = "*"\n`,
  );
  for (const [name, script] of [
    ["detect", detect],
    ["build", build],
  ] as const) {
    await writeFile(join(folder, "bin", name), `#!/bin/sh\nset -e\n${script}\n`);
    await chmod(join(folder, "bin", name), 0o755);
  }
  return folder;
}

interface Options {
  detect?: boolean;
  user?: Record<string, string>;
  available?: string[];
  companion?: string;
}

async function lifecycle(buildpacks: string[], options: Options = {}) {
  builds += 1;
  root = join(directory, "droplets", `b${builds}`);
  await mkdir(join(root, "app"), { recursive: true });
  await writeFile(join(root, "app", "hello.txt"), "hello");
  const work = join(directory, "work", `b${builds}`);
  const workspace = {
    root,
    work,
    platform: join(work, "platform"),
    machine: await thisMachine(),
    stack: "host",
    base: hostEnvironment(),
    user: options.user ?? {},
  };
  const { companion } = options;
  return runLifecycle({
    workspace,
    buildpacks,
    detect: options.detect ?? true,
    available: options.available ?? [],
    ...(companion && { companionBuildpack: companion }),
    cache: join(directory, "cache"),
    log: (_stream, line) => void lines.push(line),
  });
}

async function launch(processType: string, command?: string): Promise<string> {
  const spec = await prepareLaunch({
    root,
    processType,
    ...(command && { command }),
    env: { ...hostEnvironment(), BASE: "1" },
  });
  const [file = "", ...args] = spec.command;
  return (await run(file, args, { cwd: spec.cwd, env: spec.env })).stdout.trim();
}

const layer = (name: string, types: string, more = ""): string =>
  `mkdir -p $CNB_LAYERS_DIR/${name}; printf '[types]\\n${types
    .split(" ")
    .map((type) => `${type} = true\\n`)
    .join("")}[metadata]\\nv = "1"\\n' > $CNB_LAYERS_DIR/${name}.toml; ${more}`;
const processes = (...rows: string[]): string =>
  `cat > $CNB_LAYERS_DIR/launch.toml <<'END'\n${rows.map((row) => `[[processes]]\n${row}\n`).join("")}END\n`;

test("one buildpack provides a tool and environment, the next builds with them, the process runs with the launch layers", async () => {
  const tool = await buildpack("test/tool", {
    detect: `printf '[[provides]]\\nname = "tool"\\n' > $CNB_BUILD_PLAN_PATH`,
    build: layer(
      "tool",
      "build launch",
      `d=$CNB_LAYERS_DIR/tool; mkdir -p $d/bin $d/env $d/env.build $d/env.launch/web
      printf '#!/bin/sh\\necho tool-of-%s\\n' "$(grep -c 'version = "7"' $CNB_BP_PLAN_PATH)" > $d/bin/tool; chmod +x $d/bin/tool
      printf both > $d/env/WHERE; printf build > $d/env.build/PHASE; printf web > $d/env.launch/web/ONLY`,
    ),
  });
  const app = await buildpack("test/app", {
    detect: `test -f hello.txt; printf '[[requires]]\\nname = "tool"\\n[requires.metadata]\\nversion = "7"\\n' > $CNB_BUILD_PLAN_PATH`,
    build: `tool > built.txt; echo "$WHERE $PHASE" >> built.txt; ${processes('type = "web"\ncommand = ["sh", "-c", "cat built.txt; tool; echo $WHERE-$PHASE-$ONLY-$BASE"]\ndefault = true', 'type = "worker"\ncommand = ["printenv"]\nargs = ["WHERE"]')}`,
  });
  const group = await buildpack("test/group", {});
  await writeFile(
    join(group, "buildpack.toml"),
    `api = "0.10"\n[buildpack]\nid = "test/group"\nversion = "1.0.0"\n[[order]]\n[[order.group]]\nid = "test/tool"\nversion = "1.2.3"\n[[order.group]]\nid = "test/app"\nversion = "1.2.3"\n`,
  );
  const metadata = await lifecycle([group], { available: [tool, app] });
  expect(metadata.buildpacks.map(({ id }) => id)).toEqual(["test/tool", "test/app"]);
  expect(toProcessTypes(metadata)).toEqual({
    web: "cat built.txt; tool; echo $WHERE-$PHASE-$ONLY-$BASE",
    worker: "printenv WHERE",
  });
  expect(await launch("web")).toBe("tool-of-1\nboth build\ntool-of-1\nboth--web-1");
  expect(await launch("worker")).toBe("both");
  expect(await launch("worker", "echo $ONLY$WHERE && pwd")).toBe(`both\n${root}/app`);
  await expect(launch("clock")).rejects.toThrow(
    "no process type clock and no start command is set; its process types: web, worker",
  );
});

test("exec.d sets variables, profile.d and .profile are sourced for shell commands only", async () => {
  const bp = await buildpack("test/env", {
    build: layer(
      "l",
      "launch",
      `d=$CNB_LAYERS_DIR/l; mkdir -p $d/exec.d/web $d/profile.d
      printf '#!/bin/sh\\necho "FROM_EXEC = \\\\"$BASE-exec\\\\"" >&3\\n' > $d/exec.d/one; printf '#!/bin/sh\\necho "ONLY_WEB = \\\\"yes\\\\"" >&3\\n' > $d/exec.d/web/two; chmod +x $d/exec.d/one $d/exec.d/web/two
      echo 'export PROFILE=sourced' > $d/profile.d/a.sh; echo 'export APP_PROFILE=$PROFILE-too' > .profile
      ${processes('type = "web"\ncommand = ["sh", "-c", "echo $FROM_EXEC $ONLY_WEB $PROFILE."]', `type = "deep"\ncommand = ["pwd"]\nworking-dir = "/"`)}`,
    ),
  });
  await lifecycle([bp]);
  expect(await launch("web")).toBe("1-exec yes .");
  expect(await launch("web", `echo "$FROM_EXEC $APP_PROFILE 'q'"`)).toBe("1-exec sourced-too 'q'");
  expect(await launch("other", "echo $ONLY_WEB.")).toBe(".");
  expect(await launch("deep")).toBe("/");
});

test("the second build gets cached layers, the metadata of launch layers, and store.toml; layers without a type are gone", async () => {
  const bp = await buildpack("test/cache", {
    build: `cd $CNB_LAYERS_DIR; ls; ! test -f cached.toml || cat cached.toml store.toml kept.toml | tr '\\n' ' '
      echo; ! test -f cached/count || echo "restored: $(cat cached/count)"
      ${layer("cached", "cache", "echo x >> cached/count")}
      if test -f kept.toml; then printf '[types]\\nlaunch = true\\n' > kept.toml; else ${layer("kept", "launch", "echo first > kept/file")}; fi
      ${layer("gone", "build", "")}
      mkdir untyped; printf '[metadata]\\ns = 1\\n' > store.toml`,
  });
  const after = await buildpack("test/after", { build: "ls $CNB_LAYERS_DIR/../test_cache" });
  await lifecycle([bp, after], { detect: false });
  expect(lines).toContain("untyped.ignore");
  expect(await readdir(join(root, "layers", "test_cache"))).toEqual(["kept"]);
  expect(lines.join("\n")).not.toContain("restored");
  lines = [];
  await lifecycle([bp, after], { detect: false });
  const log = lines.join("\n");
  expect(log).toContain("restored: x");
  expect(log).toMatch(/\[metadata\] v = "1" +\[metadata\] s = 1 +\[metadata\] v = "1"/);
  expect(lines.slice(0, lines.indexOf("restored: x"))).not.toContain("gone.toml");
  // The launch layer that the buildpack reuses is the first build's.
  expect(await readFile(join(root, "layers/test_cache/kept/file"), "utf8")).toBe("first\n");
});

test("the user's variables override those of layers and are prepended to lists; with clear-env they are only files", async () => {
  const setter = await buildpack("test/setter", {
    build: layer(
      "l",
      "build",
      `mkdir -p $CNB_LAYERS_DIR/l/env $CNB_LAYERS_DIR/l/bin; printf layer > $CNB_LAYERS_DIR/l/env/COLOR; printf layer > $CNB_LAYERS_DIR/l/env/OTHER`,
    ),
  });
  const plain = await buildpack("test/plain", {
    build: `echo "plain $COLOR $OTHER $SECRET_OF_PLATFORM $CNB_EXEC_ENV $CNB_TARGET_OS"; echo "$PATH" | cut -d: -f1,2`,
  });
  const clear = await buildpack("test/clear", {
    toml: "clear-env = true",
    build: `echo "clear $COLOR $(cat $CNB_PLATFORM_DIR/env/COLOR)"`,
  });
  process.env["SECRET_OF_PLATFORM"] = "leak";
  try {
    await lifecycle([setter, plain, clear], { detect: false, user: { COLOR: "user", PATH: "/mine" } });
  } finally {
    delete process.env["SECRET_OF_PLATFORM"];
  }
  expect(lines).toContain(`plain user layer  production ${process.platform}`);
  expect(lines).toContain(`/mine:${root}/layers/test_setter/l/bin`);
  expect(lines).toContain("clear layer user");
});

test("later buildpacks replace processes, the last default wins, the companion joins when it fits", async () => {
  const one = await buildpack("test/one", {
    build: processes('type = "web"\ncommand = ["one"]\ndefault = true', 'type = "task"\ncommand = ["task"]'),
  });
  const companion = await buildpack("test/companion", {
    detect: "test -f hello.txt || exit 100",
    build: processes('type = "task"\ncommand = ["other"]\ndefault = true'),
  });
  const metadata = await lifecycle([one], { companion });
  expect(metadata.defaultProcess).toBe("task");
  expect(toProcessTypes(metadata)).toEqual({ web: "one", task: "other" });
  const not = await buildpack("test/not", { detect: "exit 100", build: "exit 1" });
  expect((await lifecycle([one], { companion: not, detect: false })).buildpacks).toHaveLength(1);
});

test.each<[string, Scripts, object, { code: string; message: RegExp }]>([
  [
    "nothing fits",
    { detect: "echo no package.json here; exit 100" },
    {},
    { code: "NoAppDetectedError", message: /test\/bp@1.2.3: no package.json here/ },
  ],
  [
    "detect breaks",
    { detect: "echo broken >&2; exit 7" },
    {},
    { code: "NoAppDetectedError", message: /bin\/detect ended with 7, saying: broken/ },
  ],
  [
    "build breaks",
    { build: "echo fine; echo 'cannot find module x' >&2; exit 3" },
    {},
    { code: "BuildpackCompileFailed", message: /test\/bp 1.2.3 ended with 3, saying: cannot find module x/ },
  ],
  ["build is killed", { build: "kill -9 $$" }, {}, { code: "BuildpackCompileFailed", message: /ended with SIGKILL/ }],
  [
    "broken launch.toml",
    { build: "echo '[[' > $CNB_LAYERS_DIR/launch.toml" },
    {},
    { code: "BuildpackCompileFailed", message: /test\/bp@1.2.3 wrote launch.toml/ },
  ],
  [
    "reuse of nothing",
    { build: "printf '[types]\\nlaunch = true\\n' > $CNB_LAYERS_DIR/l.toml" },
    {},
    { code: "BuildpackCompileFailed", message: /its layer l of the last build again/ },
  ],
  [
    "another API",
    { api: "0.99" },
    {},
    { code: "StagingError", message: /needs Buildpack API 0.99; this builder speaks/ },
  ],
  ["another machine", { toml: '[[targets]]\nos = "plan9"' }, {}, { code: "NoAppDetectedError", message: /not for/ }],
])("the error of a failed build: %s", async (_name, scripts, options, expected) => {
  const folder = await buildpack("test/bp", scripts);
  if (scripts.toml?.includes("targets"))
    await writeFile(
      join(folder, "buildpack.toml"),
      (await readFile(join(folder, "buildpack.toml"), "utf8")).replace(/\[\[stacks\]\][^]*/, ""),
    );
  await expect(lifecycle([folder], options)).rejects.toThrow(
    expect.objectContaining({
      name: "StagingFailure",
      code: expected.code,
      message: expect.stringMatching(expected.message),
    }),
  );
});

test("the error names a folder that is no buildpack", async () => {
  await expect(lifecycle([join(directory, "nowhere")])).rejects.toThrow(/no buildpack in .*nowhere/);
  await expect(lifecycle([])).rejects.toThrow(expect.objectContaining({ code: "NoBuildpacksFound" }));
  expect(dirname(root)).toBe(join(directory, "droplets"));
});

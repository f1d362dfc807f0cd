// `cf` for buildpacks and stacks: create, update, delete, list; states of stacks.
import { createWriteStream, mkdirSync, writeFileSync } from "node:fs";
import { pipeline } from "node:stream/promises";
import { expect } from "vitest";
import { ZipFile } from "yazl";
import { eventually } from "../../eventually.ts";
import type { Named, Page } from "../support/api.ts";
import type { Case, CaseRun, CommandCases } from "./support/case.ts";
import type { Who } from "./support/who.ts";

interface Buildpack extends Named {
  state: string;
  stack: string | null;
  position: number;
  enabled: boolean;
  locked: boolean;
  filename: string | null;
  lifecycle: string;
}

interface Stack extends Named {
  state: string;
  state_reason: string | null;
}

const TOML = `api = "0.10"
[buildpack]
id = "example/case"
version = "1.2.3"
[[stacks]]
id = "*"
`;
const SCRIPT = "#!/bin/sh\nexit 100\n";

/** A buildpack's zip in the case's folder. */
export async function writeBuildpack(run: CaseRun): Promise<void> {
  const zip = new ZipFile();
  zip.addBuffer(Buffer.from(TOML), "buildpack.toml");
  for (const name of ["detect", "build"]) zip.addBuffer(Buffer.from(SCRIPT), `bin/${name}`, { mode: 0o100755 });
  zip.end();
  await pipeline(zip.outputStream, createWriteStream(`${run.folder}/buildpack.zip`));
}

/** A buildpack with the case's name, the last in order. */
export async function withBuildpack(run: CaseRun): Promise<void> {
  await writeBuildpack(run);
  await run.cf("admin", "create-buildpack", run.name, "buildpack.zip", "99");
}

async function find(run: CaseRun, name = run.name): Promise<Buildpack | undefined> {
  return (await run.ground.api.admin.call<Page<Buildpack>>("GET", `/v3/buildpacks?names=${name}`)).resources[0];
}

async function stackOf(run: CaseRun, name: string): Promise<Stack | undefined> {
  return (await run.ground.api.admin.call<Page<Stack>>("GET", `/v3/stacks?names=${name}`)).resources[0];
}

const newStack = (run: CaseRun): Promise<Named> =>
  run.ground.api.admin.call("POST", "/v3/stacks", { name: run.name, description: "of a case" });

function forbidden(as: Who, run: string, given: Case["given"]): Case {
  return {
    name: `by a ${as}`,
    as,
    ...(given && { given }),
    run,
    refused: ["You are not authorized to perform the requested action"],
  };
}

export const BUILDPACK_CASES: readonly CommandCases[] = [
  {
    command: "create-buildpack",
    cases: [
      {
        name: "a zip",
        as: "admin",
        given: writeBuildpack,
        run: "create-buildpack {name} buildpack.zip 99",
        shows: [
          "Creating buildpack {name} as",
          "Uploading buildpack {name} as",
          "Processing uploaded buildpack {name}...",
          "OK",
        ],
        effect: async (run) =>
          expect(await find(run)).toMatchObject({
            state: "READY",
            enabled: true,
            locked: false,
            filename: "buildpack.zip",
          }),
      },
      {
        name: "a folder, position 1, --disable",
        alone: true,
        as: "admin",
        given: (run) => {
          mkdirSync(`${run.folder}/pack/bin`, { recursive: true });
          writeFileSync(`${run.folder}/pack/buildpack.toml`, TOML);
          for (const name of ["detect", "build"])
            writeFileSync(`${run.folder}/pack/bin/${name}`, SCRIPT, { mode: 0o755 });
          return Promise.resolve();
        },
        run: "create-buildpack {name} pack 1 --disable",
        effect: async (run) => expect(await find(run)).toMatchObject({ state: "READY", enabled: false, position: 1 }),
      },
      {
        name: "a name that is taken",
        as: "admin",
        given: withBuildpack,
        run: "create-buildpack {name} buildpack.zip 1",
        refused: [/already exists|already in use|is in use/i],
      },
      {
        name: "a file that is no archive",
        as: "admin",
        given: (run) => Promise.resolve(writeFileSync(`${run.folder}/buildpack.zip`, "no zip at all")),
        run: "create-buildpack {name} buildpack.zip 1",
        refused: [/zip|archive|valid/i],
      },
      {
        name: "a path that does not exist",
        as: "admin",
        run: "create-buildpack {name} nowhere.zip 1",
        refused: [/nowhere\.zip.*does not exist/],
      },
      forbidden("developer", "create-buildpack {name} buildpack.zip 1", writeBuildpack),
    ],
  },
  {
    command: "update-buildpack",
    cases: [
      {
        name: "-i, --disable, --lock",
        alone: true,
        as: "admin",
        given: withBuildpack,
        run: "update-buildpack {name} -i 2 --disable --lock",
        shows: ["Updating buildpack {name}", "OK"],
        effect: async (run) => expect(await find(run)).toMatchObject({ position: 2, enabled: false, locked: true }),
      },
      {
        name: "--enable, --unlock",
        as: "admin",
        given: async (run) => {
          await withBuildpack(run);
          await run.cf("admin", "update-buildpack", run.name, "--disable", "--lock");
        },
        run: "update-buildpack {name} --enable --unlock",
        effect: async (run) => expect(await find(run)).toMatchObject({ enabled: true, locked: false }),
      },
      {
        name: "--rename",
        as: "admin",
        given: withBuildpack,
        run: "update-buildpack {name} --rename {name}-new",
        shows: ["Renaming buildpack {name} to {name}-new as"],
        effect: async (run) => expect(await find(run, `${run.name}-new`)).toBeDefined(),
      },
      {
        name: "-p",
        as: "admin",
        given: withBuildpack,
        run: "update-buildpack {name} -p buildpack.zip",
        shows: ["Uploading buildpack {name} as", "Processing uploaded buildpack {name}..."],
        effect: async (run) => expect(await find(run)).toMatchObject({ state: "READY", filename: "buildpack.zip" }),
      },
      {
        name: "--assign-stack",
        as: "admin",
        given: withBuildpack,
        run: "update-buildpack {name} --assign-stack host",
        shows: ["Assigning stack host to {name} as"],
        effect: async (run) => expect(await find(run)).toMatchObject({ stack: "host" }),
      },
      {
        name: "one that does not exist",
        as: "admin",
        run: "update-buildpack nothing -i 2",
        refused: ["Buildpack 'nothing' not found"],
      },
      forbidden("developer", "update-buildpack {name} -i 2", withBuildpack),
    ],
  },
  {
    command: "delete-buildpack",
    cases: [
      {
        name: "-f",
        as: "admin",
        given: withBuildpack,
        run: "delete-buildpack {name} -f",
        shows: ["Deleting buildpack {name}", "OK"],
        effect: (run) => eventually(async () => expect(await find(run)).toBeUndefined()),
      },
      {
        name: "with a person who says no",
        as: "admin",
        given: withBuildpack,
        run: "delete-buildpack {name}",
        input: "n\n",
        shows: ["Delete cancelled"],
        effect: async (run) => expect(await find(run)).toBeDefined(),
      },
      {
        name: "one that does not exist",
        as: "admin",
        run: "delete-buildpack {name} -f",
        shows: ["Buildpack '{name}' not found.", "OK"],
        effect: async (run) => expect(await find(run)).toBeUndefined(),
      },
      forbidden("developer", "delete-buildpack {name} -f", withBuildpack),
    ],
  },
  {
    command: "buildpacks",
    cases: [
      {
        name: "all, by position",
        given: withBuildpack,
        run: "buildpacks",
        shows: [
          /position\s+name\s+stack\s+enabled\s+locked\s+state\s+filename/,
          "{buildpack}",
          /{name}|buildpacks-1\s/,
        ],
        effect: async (run) => expect(await find(run)).toMatchObject({ state: "READY" }),
      },
      {
        name: "--labels",
        given: async (run) => {
          await withBuildpack(run);
          await run.cf("admin", "set-label", "buildpack", run.name, "kind=case");
        },
        run: "buildpacks --labels kind=case",
        shows: ["{name}"],
        hides: ["{buildpack}"],
        effect: async (run) => expect(await find(run)).toBeDefined(),
      },
      {
        name: "--lifecycle",
        alone: true,
        run: "buildpacks --lifecycle cnb",
        hides: ["buildpacks-1"],
        effect: async (run) => expect((await find(run, "buildpacks-1"))?.lifecycle).toBe("buildpack"),
      },
    ],
  },
  {
    command: "stacks",
    cases: [
      {
        name: "all",
        given: newStack,
        run: "stacks",
        shows: [/name\s+description\s+state/, /host\s/, /stacks-1\s+of a case\s+ACTIVE/],
        effect: async (run) => expect(await stackOf(run, run.name)).toMatchObject({ state: "ACTIVE" }),
      },
      {
        name: "--labels",
        given: async (run) => {
          await newStack(run);
          await run.cf("admin", "set-label", "stack", run.name, "kind=case");
        },
        run: "stacks --labels kind=case",
        shows: ["{name}"],
        hides: ["stacks-1"],
        effect: async (run) => expect(await stackOf(run, run.name)).toBeDefined(),
      },
    ],
  },
  {
    command: "stack",
    cases: [
      {
        name: "by name",
        given: newStack,
        run: "stack {name}",
        shows: ["Getting info for stack {name} as", /name:\s+stack-1/, /description:\s+of a case/, /state:\s+ACTIVE/],
        effect: async (run) => expect(await stackOf(run, run.name)).toBeDefined(),
      },
      {
        name: "--guid",
        given: newStack,
        run: "stack {name} --guid",
        effect: async (run, output) => expect(output.trim()).toBe((await stackOf(run, run.name))?.guid),
      },
      { name: "one that does not exist", run: "stack nothing", refused: ["Stack 'nothing' not found"] },
    ],
  },
  {
    command: "update-stack",
    cases: [
      {
        name: "--state, --reason",
        as: "admin",
        given: newStack,
        run: ["update-stack", "{name}", "--state", "deprecated", "--reason", "too old"],
        shows: ["Updating stack {name} as", "OK"],
        effect: async (run) =>
          expect(await stackOf(run, run.name)).toMatchObject({ state: "DEPRECATED", state_reason: "too old" }),
      },
      {
        name: "a state that is none",
        as: "admin",
        run: "update-stack host --state gone",
        refused: ["Invalid state: gone"],
      },
      {
        name: "one that does not exist",
        as: "admin",
        run: "update-stack nothing --state disabled",
        refused: ["Stack 'nothing' not found"],
      },
      forbidden("developer", "update-stack {name} --state disabled", newStack),
    ],
  },
];

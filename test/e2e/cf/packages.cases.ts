// `cf` for packages and droplets: create-package, packages, stage-package, droplets, set-droplet, download-droplet.
import { readFileSync, statSync } from "node:fs";
import { expect } from "vitest";
import { eventually } from "../../eventually.ts";
import type { Named, Page } from "../support/api.ts";
import { findApp, makeApp, ofApp } from "./support/apps.ts";
import type { CaseRun, CommandCases } from "./support/case.ts";
import { forbidden, noSuchApp } from "./support/refusals.ts";
import { writeServer } from "./support/sources.ts";

interface Package extends Named {
  state: string;
  type: string;
  data: { image?: string };
}

async function packagesOf(run: CaseRun): Promise<Package[]> {
  return (await ofApp<Page<Package>>(run, "packages")).resources;
}

async function dropletsOf(run: CaseRun): Promise<(Named & { state: string })[]> {
  return (await ofApp<Page<Named & { state: string }>>(run, "droplets")).resources;
}

async function currentDroplet(run: CaseRun): Promise<string> {
  return (await ofApp<Named>(run, "droplets/current")).guid;
}

const empty = (run: CaseRun): Promise<string> => makeApp(run, { is: "empty" });
const stopped = (run: CaseRun): Promise<string> => makeApp(run, { is: "stopped" });

/** An app with a package that was not staged, as `{package}`. */
async function withPackage(run: CaseRun): Promise<void> {
  await empty(run);
  writeServer(run);
  await run.cf("developer", "create-package", run.name);
  run.values["package"] = (await packagesOf(run))[0]?.guid ?? "";
}

/** An app with a droplet in force, and another one, as `{droplet}`. */
async function withOtherDroplet(run: CaseRun): Promise<void> {
  await stopped(run);
  writeServer(run);
  await run.cf("developer", "create-package", run.name);
  await run.cf("developer", "stage-package", run.name);
  const current = await currentDroplet(run);
  run.values["droplet"] = (await dropletsOf(run)).find(({ guid }) => guid !== current)?.guid ?? "";
}

export const PACKAGE_CASES: readonly CommandCases[] = [
  {
    command: "create-package",
    cases: [
      {
        name: "the folder it runs in",
        given: async (run) => {
          await empty(run);
          writeServer(run);
        },
        run: "create-package {name}",
        shows: ["Creating and uploading bits package for app {name} in org {org} / space {space} as", "OK"],
        effect: async (run, output) => {
          const [made] = await packagesOf(run);
          expect(made).toMatchObject({ type: "bits", state: "READY" });
          expect(output).toContain(`Package with guid '${made?.guid}' has been created.`);
        },
      },
      {
        name: "-p",
        given: empty,
        run: "create-package {name} -p {hello}",
        effect: async (run) => expect(await packagesOf(run)).toMatchObject([{ state: "READY" }]),
      },
      {
        name: "-o",
        given: empty,
        run: "create-package {name} -o registry.example.com/shop:1",
        refused: ["Cannot create Docker package for a buildpack app."],
      },
      forbidden("auditor", "create-package {name} -p {hello}"),
      noSuchApp("create-package", "-p {hello}"),
    ],
  },
  {
    command: "packages",
    cases: [
      {
        name: "one",
        given: withPackage,
        run: "packages {name}",
        shows: ["Getting packages of app {name} in org {org} / space {space} as", /guid\s+state\s+created/, /ready/],
        effect: async (run, output) => expect(output).toContain((await packagesOf(run))[0]?.guid),
      },
      {
        name: "none",
        given: empty,
        run: "packages {name}",
        shows: ["No packages found."],
        effect: async (run) => expect(await packagesOf(run)).toEqual([]),
      },
      noSuchApp("packages"),
    ],
  },
  {
    command: "stage-package",
    cases: [
      {
        name: "the latest",
        given: withPackage,
        run: "stage-package {name}",
        shows: [
          "Staging package for {name} in org {org} / space {space} as",
          "Package staged",
          /droplet guid:\s+\S+/,
          /state:\s+staged/,
        ],
        effect: async (run, output) => expect(output).toContain((await dropletsOf(run))[0]?.guid),
      },
      {
        name: "--package-guid",
        given: withPackage,
        run: "stage-package {name} --package-guid {package}",
        effect: async (run) => expect(await dropletsOf(run)).toMatchObject([{ state: "STAGED" }]),
      },
      {
        name: "a package that does not exist",
        given: empty,
        run: "stage-package {name} --package-guid no-such-package",
        refused: ["Package with guid 'no-such-package' not found in app '{name}'."],
      },
      {
        name: "an app without a package",
        given: empty,
        run: "stage-package {name}",
        refused: ["App '{name}' has no eligible packages."],
      },
      noSuchApp("stage-package"),
    ],
  },
  {
    command: "droplets",
    cases: [
      {
        name: "one in force, one not",
        given: withOtherDroplet,
        run: "droplets {name}",
        shows: ["Getting droplets of app {name} in org {org} / space {space} as", /guid\s+state\s+created/, /staged/],
        effect: async (run, output) => {
          expect(output).toContain(`${await currentDroplet(run)} (current)`);
          expect(output).toContain(run.values["droplet"]);
        },
      },
      {
        name: "none",
        given: empty,
        run: "droplets {name}",
        shows: ["No droplets found"],
        effect: async (run) => expect(await dropletsOf(run)).toEqual([]),
      },
      noSuchApp("droplets"),
    ],
  },
  {
    command: "set-droplet",
    cases: [
      {
        name: "another one",
        given: withOtherDroplet,
        run: "set-droplet {name} {droplet}",
        shows: ["Setting app {name} to droplet {droplet} in org {org} / space {space} as", "OK"],
        effect: async (run) => expect(await currentDroplet(run)).toBe(run.values["droplet"]),
      },
      {
        name: "one of another app",
        given: async (run) => {
          await empty(run);
          await makeApp(run, { name: `${run.name}-other`, is: "stopped" });
          run.values["droplet"] = (await ofApp<Named>(run, "droplets/current", `${run.name}-other`)).guid;
        },
        run: "set-droplet {name} {droplet}",
        refused: ["Unable to assign current droplet. Ensure the droplet exists and belongs to this app."],
      },
      {
        name: "one that does not exist",
        given: stopped,
        run: "set-droplet {name} no-such-droplet",
        refused: ["Unable to assign current droplet. Ensure the droplet exists and belongs to this app."],
      },
      forbidden("auditor", "set-droplet {name} any"),
      noSuchApp("set-droplet", "any"),
    ],
  },
  {
    command: "download-droplet",
    cases: [
      {
        name: "the current one",
        given: stopped,
        run: "download-droplet {name}",
        shows: [
          "Downloading current droplet for app {name} in org {org} / space {space} as",
          "Droplet downloaded successfully at",
          "OK",
        ],
        effect: async (run) => {
          const file = `${run.folder}/droplet_${await currentDroplet(run)}.tgz`;
          expect([...readFileSync(file).subarray(0, 2)]).toEqual([0x1f, 0x8b]);
        },
      },
      {
        name: "--droplet --path",
        given: withOtherDroplet,
        run: "download-droplet {name} --droplet {droplet} --path other.tgz",
        effect: (run) => Promise.resolve(expect(statSync(`${run.folder}/other.tgz`).size).toBeGreaterThan(100)),
      },
      {
        name: "an app without a droplet",
        given: empty,
        run: "download-droplet {name}",
        refused: ["App '{name}' does not have a current droplet."],
      },
      {
        name: "a droplet that does not exist",
        given: stopped,
        run: "download-droplet {name} --droplet no-such-droplet",
        refused: ["Droplet 'no-such-droplet' not found for app '{name}'"],
      },
      noSuchApp("download-droplet"),
    ],
  },
  {
    command: "restage",
    cases: [
      {
        name: "an app that runs",
        given: async (run) => {
          writeServer(run);
          await run.cf("developer", "push", run.name);
        },
        run: "restage {name}",
        shows: [
          "This action will cause app downtime.",
          "Restaging app {name} in org {org} / space {space} as",
          "Staging app and tracing logs...",
          /#0\s+running/,
        ],
        effect: async (run) => {
          expect(await dropletsOf(run)).toHaveLength(2);
          await eventually(async () => expect(await findApp(run.ground, run.name)).toMatchObject({ state: "STARTED" }));
        },
      },
      {
        name: "an app without a package",
        given: empty,
        run: "restage {name}",
        refused: ["App '{name}' has no eligible packages."],
      },
      forbidden("auditor", "restage {name}", withPackage),
      noSuchApp("restage"),
    ],
  },
  {
    command: "copy-source",
    cases: [
      {
        name: "to an app that exists, which is staged and restarted",
        given: async (run) => {
          writeServer(run, "copied");
          await run.cf("developer", "push", `${run.name}-from`, "--no-start");
          await makeApp(run);
        },
        run: "copy-source {name}-from {name}",
        shows: [
          "Copying source from app {name}-from to target app {name} in org {org} / space {space} as",
          "Staging app {name}",
          /#0\s+running/,
        ],
        effect: (run) =>
          eventually(async () => {
            const { body } = await run.ground.stage.get(`${run.name}.apps.localhost`);
            expect(body).toContain("copied");
          }, 60_000),
      },
      {
        name: "--no-restart",
        given: async (run) => {
          writeServer(run, "copied");
          await run.cf("developer", "push", `${run.name}-from`, "--no-start");
          await empty(run);
        },
        run: "copy-source {name}-from {name} --no-restart",
        shows: ["OK"],
        hides: ["Staging app"],
        effect: async (run) => expect(await packagesOf(run)).toMatchObject([{ state: "READY" }]),
      },
      {
        name: "to an app that does not exist",
        given: async (run) => {
          writeServer(run);
          await run.cf("developer", "push", `${run.name}-from`, "--no-start");
        },
        run: "copy-source {name}-from {name}",
        refused: ["App '{name}' not found"],
      },
      {
        name: "from an app without a package",
        given: async (run) => {
          await empty(run);
          await makeApp(run, { name: `${run.name}-from`, is: "empty" });
        },
        run: "copy-source {name}-from {name}",
        refused: [/package/i, "FAILED"],
      },
      noSuchApp("copy-source", "other"),
    ],
  },
];

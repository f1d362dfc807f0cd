// `cf push`, flag by flag. What manifests say is in manifests.cases.ts, deployments in deployments.cases.ts.
import { createWriteStream } from "node:fs";
import { pipeline } from "node:stream/promises";
import { expect } from "vitest";
import { ZipFile } from "yazl";
import { eventually } from "../../eventually.ts";
import type { Page } from "../support/api.ts";
import { answers, expectState, findApp, makeApp, ofApp, processOf, untilRunning } from "./support/apps.ts";
import type { CaseRun, CommandCases } from "./support/case.ts";
import { serverFiles, writeFiles, writeServer, type ServerAnswer } from "./support/sources.ts";

async function answerOf(run: CaseRun, host = run.name): Promise<ServerAnswer> {
  return JSON.parse(await answers(run, 200, host)) as ServerAnswer;
}

async function routesOf(run: CaseRun): Promise<string[]> {
  return (await ofApp<Page<{ url: string }>>(run, "routes")).resources.map(({ url }) => url);
}

const source = (run: CaseRun): Promise<void> => Promise.resolve(writeServer(run));

export const PUSH_CASES: readonly CommandCases[] = [
  {
    command: "push",
    cases: [
      {
        name: "the folder it runs in",
        given: source,
        run: "push {name}",
        shows: [
          "Pushing app {name} to org {org} / space {space} as",
          "Packaging files to upload...",
          "Waiting for API to complete processing files...",
          "Staging app and tracing logs...",
          "Waiting for app {name} to start...",
          /routes:\s+push-1\.apps\.localhost/,
          /instances:\s+1\/1/,
          /#0\s+running/,
        ],
        effect: async (run) => expect(await answerOf(run)).toMatchObject({ text: "hello" }),
      },
      {
        name: "again, with a changed file",
        given: async (run) => {
          await makeApp(run);
          writeServer(run, "changed");
        },
        run: "push {name}",
        effect: (run) => eventually(async () => expect((await answerOf(run)).text).toBe("changed")),
      },
      {
        name: "-m, -k, -i, -l",
        given: source,
        run: "push {name} -m 96M -k 200M -i 2 -l 16K",
        shows: [/memory usage:\s+96M/, /instances:\s+\d\/2/],
        effect: async (run) =>
          expect(await processOf(run)).toMatchObject({
            instances: 2,
            memory_in_mb: 96,
            disk_in_mb: 200,
            log_rate_limit_in_bytes_per_second: 16_384,
          }),
      },
      {
        name: "-c",
        given: source,
        run: ["push", "{name}", "-c", "node server.js from-the-flag"],
        shows: [/start command:\s+node server\.js from-the-flag/],
        effect: async (run) => {
          expect(await processOf(run)).toMatchObject({ command: "node server.js from-the-flag" });
          expect((await answerOf(run)).argv).toEqual(["from-the-flag"]);
        },
      },
      {
        name: "-c null, which resets the command",
        given: async (run) => {
          writeServer(run);
          await run.cf("developer", "push", run.name, "-c", "node server.js first");
        },
        run: "push {name} -c null",
        effect: async (run) => {
          await eventually(async () => expect((await answerOf(run)).argv).toEqual([]));
          expect((await processOf(run)).command).not.toContain("first");
        },
      },
      {
        name: "-b with a buildpack's name",
        given: source,
        run: "push {name} -b nodejs_buildpack",
        effect: async (run) =>
          expect((await findApp(run.ground, run.name))?.lifecycle.data).toMatchObject({
            buildpacks: ["nodejs_buildpack"],
          }),
      },
      {
        name: "-b default, which forgets the app's buildpacks",
        given: async (run) => {
          writeServer(run);
          await run.cf("developer", "create-app", run.name, "-b", "nodejs_buildpack");
        },
        run: "push {name} -b default --no-start",
        effect: async (run) =>
          expect((await findApp(run.ground, run.name))?.lifecycle.data).toMatchObject({ buildpacks: [] }),
      },
      {
        name: "-b with a buildpack that does not exist",
        given: source,
        run: "push {name} -b no-such-buildpack",
        refused: ['Specified unknown buildpack name: "no-such-buildpack"'],
      },
      {
        name: "-s",
        given: source,
        run: "push {name} -s host --no-start",
        effect: async (run) =>
          expect((await findApp(run.ground, run.name))?.lifecycle.data).toMatchObject({ stack: "host" }),
      },
      {
        name: "-s with a stack that does not exist",
        given: source,
        run: "push {name} -s no-such-stack",
        refused: [/Stack must be an existing stack/],
      },
      {
        name: "-p",
        run: "push {name} -p {hello}",
        effect: async (run) => expect(await answers(run, 200)).toContain("Hello"),
      },
      {
        name: "-p with a zip",
        given: (run) => writeZip(run),
        run: "push {name} -p app.zip",
        effect: async (run) => expect((await answerOf(run)).text).toBe("zipped"),
      },
      {
        name: "-p with a path that does not exist",
        run: "push {name} -p nowhere",
        refused: [/path '?.*nowhere'? does not exist/],
      },
      {
        name: "--no-start",
        given: source,
        run: "push {name} --no-start",
        hides: ["Staging app"],
        effect: async (run) => {
          await expectState(run, "STOPPED");
          expect((await ofApp(run, "packages")).resources).toHaveLength(1);
          expect((await ofApp(run, "droplets")).resources).toHaveLength(0);
        },
      },
      {
        name: "--no-start of an app that runs, which stops it",
        given: async (run) => {
          await makeApp(run);
          writeServer(run);
        },
        run: "push {name} --no-start",
        shows: ["Stopping Application...", "Application Stopped"],
        effect: (run) => expectState(run, "STOPPED"),
      },
      {
        name: "--no-route",
        given: source,
        run: "push {name} --no-route",
        shows: [/routes:\s*\n/],
        effect: async (run) => {
          await expectState(run, "STARTED");
          expect(await routesOf(run)).toEqual([]);
        },
      },
      {
        name: "--no-route of an app with a route, which unmaps it",
        given: async (run) => {
          await makeApp(run);
          writeServer(run);
        },
        run: "push {name} --no-route",
        effect: async (run) => expect(await routesOf(run)).toEqual([]),
      },
      {
        name: "--random-route",
        given: source,
        run: "push {name} --random-route",
        effect: async (run) => {
          const [url = "", ...others] = await routesOf(run);
          expect(others).toEqual([]);
          expect(url).toMatch(/^push-\d+-[a-z]+-[a-z]+(-[a-z0-9]+)?\.apps\.localhost$/);
          await answers(run, 200, url.replace(".apps.localhost", ""));
        },
      },
      {
        name: "--no-manifest beside a manifest",
        given: (run) =>
          Promise.resolve(writeServer(run, "hello", { "manifest.yml": "applications:\n- name: other\n" })),
        run: "push {name} --no-manifest",
        effect: async (run) => {
          await expectState(run, "STARTED");
          expect(await findApp(run.ground, "other")).toBeUndefined();
        },
      },
      {
        name: "--task",
        given: source,
        run: "push {name} --task",
        shows: [/Pushing app {name}|Staging app/],
        effect: async (run) => {
          await expectState(run, "STOPPED");
          expect(await ofApp(run, "droplets/current")).toMatchObject({ state: "STAGED" });
          expect(await routesOf(run)).toEqual([]);
        },
      },
      {
        name: "-u http --endpoint",
        given: source,
        run: "push {name} -u http --endpoint /healthy",
        effect: async (run) =>
          expect((await processOf(run)).health_check).toMatchObject({ type: "http", data: { endpoint: "/healthy" } }),
      },
      {
        name: "-u process, -t",
        given: source,
        run: "push {name} -u process -t 30",
        effect: async (run) =>
          expect((await processOf(run)).health_check).toMatchObject({ type: "process", data: { timeout: 30 } }),
      },
      {
        name: "--no-wait",
        given: source,
        run: "push {name} -i 2 --no-wait",
        effect: async (run) => untilRunning(run.ground, (await findApp(run.ground, run.name))?.guid ?? ""),
      },
      {
        name: "--droplet",
        given: async (run) => {
          await makeApp(run, { name: `${run.name}-source`, is: "stopped" });
          await run.cf("developer", "download-droplet", `${run.name}-source`, "-p", `${run.folder}/droplet.tgz`);
        },
        run: "push {name} --droplet droplet.tgz",
        shows: ["Uploading droplet bits..."],
        hides: ["Staging app"],
        effect: async (run) => expect(await answers(run, 200)).toContain("Hello"),
      },
      {
        name: "--docker-image on a laptop, which runs none",
        laptopOnly: "a cluster runs images",
        run: "push {name} --docker-image registry.example.com/shop:1",
        refused: ["there is no default runner class that takes docker"],
        effect: async (run) =>
          expect((await findApp(run.ground, run.name))?.lifecycle).toMatchObject({ type: "docker" }),
      },
      {
        name: "-o --no-start",
        run: "push {name} -o registry.example.com/shop:1 --no-start",
        effect: async (run) =>
          expect((await ofApp<Page<{ data: object }>>(run, "packages")).resources[0]).toMatchObject({
            type: "docker",
            data: { image: "registry.example.com/shop:1" },
          }),
      },
      {
        name: "--lifecycle cnb with a buildpack that does not exist",
        given: source,
        run: "push {name} --lifecycle cnb -b nothing-here",
        refused: ['Specified unknown buildpack name: "nothing-here"'],
      },
      {
        name: "a crash at the start",
        given: source,
        run: ["push", "{name}", "-c", "exit 7"],
        refused: [
          "APP/PROC/WEB: Exited with status 7",
          /#0\s+crashed/,
          "Start unsuccessful",
          "TIP: use 'cf logs {name} --recent' for more information",
        ],
        effect: async (run) => expectState(run, "STARTED"),
      },
      {
        name: "an app that does not listen in time",
        given: source,
        run: ["push", "{name}", "-c", "sleep 600", "-t", "2"],
        refused: ["Instance never healthy after 2s", "Start unsuccessful"],
      },
      {
        name: "a source that no buildpack takes",
        given: (run) => Promise.resolve(writeFiles(run, { "notes.txt": "nothing to run\n" })),
        run: "push {name}",
        refused: [/NoAppDetectedError|An app was not successfully detected/],
      },
      {
        name: "an empty folder",
        run: "push {name}",
        refused: ["No app files found in"],
      },
      {
        name: "more memory than an instance may have",
        given: source,
        run: "push {name} -m 9999999999999M",
        refused: ['Process "web": Memory must use a supported unit: B, K, KB, M, MB, G, GB, T, or TB'],
      },
      {
        name: "a route of another space",
        given: async (run) => {
          writeServer(run);
          const { admin } = run.ground.api;
          const organization = { data: { guid: run.ground.orgGUID } };
          const space = await admin.call("POST", "/v3/spaces", { name: "elsewhere", relationships: { organization } });
          const relationships = {
            space: { data: { guid: space.guid } },
            domain: { data: { guid: run.ground.domainGUID } },
          };
          await admin.call("POST", "/v3/routes", { host: run.name, relationships });
        },
        run: "push {name}",
        refused: ["For application '{name}': Routes cannot be mapped to destinations in different spaces"],
      },
      { name: "by an auditor", as: "auditor", given: source, run: "push {name}", refused: [/not authorized/] },
      {
        name: "by a supporter, who creates no app",
        as: "supporter",
        given: source,
        run: "push {name}",
        refused: [/not authorized/],
        effect: async (run) => expect(await findApp(run.ground, run.name)).toBeUndefined(),
      },
    ],
  },
];

async function writeZip(run: CaseRun): Promise<void> {
  const zip = new ZipFile();
  for (const [path, content] of Object.entries(serverFiles("zipped"))) zip.addBuffer(Buffer.from(content), path);
  zip.end();
  await pipeline(zip.outputStream, createWriteStream(`${run.folder}/app.zip`));
}

// `cf` with manifests: push -f, --var, --vars-file, apply-manifest; processes, sidecars, routes, metadata, checks.
import { expect } from "vitest";
import type { Page } from "../support/api.ts";
import { answers, expectState, findApp, makeApp, ofApp, processOf } from "./support/apps.ts";
import type { CaseRun, CommandCases } from "./support/case.ts";
import { serverFiles, writeFiles } from "./support/sources.ts";

function write(manifest: string, more: Record<string, string> = {}) {
  return (run: CaseRun): Promise<void> => {
    const text = manifest.replaceAll("{name}", run.name);
    return Promise.resolve(writeFiles(run, { ...serverFiles("hello"), "manifest.yml": text, ...more }));
  };
}

const FULL = `---
applications:
- name: {name}
  memory: 96M
  disk_quota: 256M
  log-rate-limit-per-second: 32K
  instances: 1
  stack: host
  buildpacks: [nodejs_buildpack]
  command: node server.js from-the-manifest
  health-check-type: http
  health-check-http-endpoint: /healthy
  health-check-invocation-timeout: 5
  health-check-interval: 7
  timeout: 50
  readiness-health-check-type: http
  readiness-health-check-http-endpoint: /ready
  readiness-health-check-invocation-timeout: 4
  readiness-health-check-interval: 6
  env: { COLOUR: blue, COUNT: 3 }
  metadata:
    labels: { tier: backend }
    annotations: { contact: somebody }
  routes:
  - route: {name}-one.apps.localhost
  - route: {name}-two.apps.localhost/deep
  sidecars:
  - { name: helper, process_types: [web], command: sleep 1000, memory: 16M }
`;

const PROCESSES = `applications:
- name: {name}
  processes:
  - { type: web, instances: 1, memory: 80M }
  - { type: worker, instances: 2, memory: 64M, command: sleep 1000, health-check-type: process }
`;

async function urlsOf(run: CaseRun): Promise<string[]> {
  return (await ofApp<Page<{ url: string }>>(run, "routes")).resources.map(({ url }) => url).sort();
}

async function expectAll(run: CaseRun): Promise<void> {
  expect(await processOf(run)).toMatchObject({
    memory_in_mb: 96,
    disk_in_mb: 256,
    log_rate_limit_in_bytes_per_second: 32_768,
    command: "node server.js from-the-manifest",
    health_check: { type: "http", data: { endpoint: "/healthy", invocation_timeout: 5, interval: 7, timeout: 50 } },
    readiness_health_check: { type: "http", data: { endpoint: "/ready", invocation_timeout: 4, interval: 6 } },
  });
  expect(await findApp(run.ground, run.name)).toMatchObject({
    lifecycle: { type: "buildpack", data: { buildpacks: ["nodejs_buildpack"], stack: "host" } },
    metadata: { labels: { tier: "backend" }, annotations: { contact: "somebody" } },
  });
  expect(await urlsOf(run)).toEqual([`${run.name}-one.apps.localhost`, `${run.name}-two.apps.localhost/deep`]);
  expect(await ofApp(run, "environment_variables")).toMatchObject({ var: { COLOUR: "blue", COUNT: "3" } });
  expect((await ofApp<Page<object>>(run, "sidecars")).resources).toMatchObject([
    { name: "helper", command: "sleep 1000", process_types: ["web"], memory_in_mb: 16 },
  ]);
}

export const MANIFEST_CASES: readonly CommandCases[] = [
  {
    command: "push",
    cases: [
      {
        name: "a manifest with everything",
        given: write(FULL),
        run: "push",
        shows: [
          "Applying manifest file {folder}/manifest.yml...",
          "Updating with these attributes...",
          "Manifest applied",
          /sidecars:\s+helper/,
        ],
        effect: async (run) => {
          await expectAll(run);
          expect(await answers(run, 200, `${run.name}-one`)).toContain("from-the-manifest");
        },
      },
      {
        name: "-f, --var, --vars-file",
        given: write("applications:\n- name: {name}\n  memory: ((size))\n  env: { COLOUR: ((colour)) }\n", {
          "other.yml": "applications: []\n",
          "vars.yml": "size: 72M\n",
        }),
        run: "push -f manifest.yml --var colour=green --vars-file vars.yml --no-start",
        effect: async (run) => {
          expect(await processOf(run)).toMatchObject({ memory_in_mb: 72 });
          expect(await ofApp(run, "environment_variables")).toMatchObject({ var: { COLOUR: "green" } });
        },
      },
      {
        name: "a variable without a value",
        given: write("applications:\n- name: {name}\n  memory: ((size))\n"),
        run: "push",
        refused: ["Expected to find variables: size"],
      },
      {
        name: "several processes",
        given: write(PROCESSES),
        run: "push",
        shows: [/type:\s+web/, /type:\s+worker/],
        effect: async (run) => {
          expect(await processOf(run, "worker")).toMatchObject({
            instances: 2,
            memory_in_mb: 64,
            command: "sleep 1000",
          });
          expect(await processOf(run)).toMatchObject({ instances: 1, memory_in_mb: 80 });
        },
      },
      {
        name: "one app of a manifest with two",
        given: write("applications:\n- name: {name}\n- name: {name}-other\n"),
        run: "push {name} --no-start",
        effect: async (run) => {
          expect(await findApp(run.ground, run.name)).toBeDefined();
          expect(await findApp(run.ground, `${run.name}-other`)).toBeUndefined();
        },
      },
      {
        name: "an app that the manifest has not",
        given: write("applications:\n- name: other\n- name: another\n"),
        run: "push {name}",
        refused: ["Could not find app named '{name}' in manifest"],
      },
      {
        name: "flags over the manifest",
        given: write(FULL),
        run: "push {name} -m 88M -i 2 -c server.js --no-start",
        effect: async (run) =>
          expect(await processOf(run)).toMatchObject({ memory_in_mb: 88, instances: 2, command: "server.js" }),
      },
      {
        name: "path, random-route, no-route, default-route",
        given: (run) => {
          writeFiles(run, {
            "manifest.yml": `applications:\n- { name: ${run.name}, path: app, default-route: true }\n- { name: ${run.name}-b, path: app, random-route: true }\n- { name: ${run.name}-c, path: app, no-route: true }\n`,
            ...Object.fromEntries(Object.entries(serverFiles("sub")).map(([path, text]) => [`app/${path}`, text])),
          });
          return Promise.resolve();
        },
        run: "push --no-start",
        effect: async (run) => {
          expect(await urlsOf(run)).toEqual([`${run.name}.apps.localhost`]);
          expect((await ofApp<Page<object>>(run, "routes", `${run.name}-b`)).resources).toHaveLength(1);
          expect((await ofApp<Page<object>>(run, "routes", `${run.name}-c`)).resources).toEqual([]);
        },
      },
      {
        name: "YAML anchors and merges",
        given: write(
          "defaults: &defaults\n  memory: 77M\n  no-route: true\napplications:\n- name: {name}\n  <<: *defaults\n- name: {name}-b\n  <<: *defaults\n  memory: 66M\n",
        ),
        run: "push --no-start",
        effect: async (run) => {
          expect(await processOf(run)).toMatchObject({ memory_in_mb: 77 });
          expect(await processOf(run, "web", `${run.name}-b`)).toMatchObject({ memory_in_mb: 66 });
        },
      },
      {
        name: "a manifest that names a service instance that is not there",
        given: write("applications:\n- name: {name}\n  services: [no-database]\n"),
        run: "push --no-start",
        refused: ["Service instance 'no-database' not found"],
      },
      {
        name: "a manifest that is no YAML",
        given: write("applications: [\n"),
        run: "push",
        refused: ["yaml: line 1: did not find expected node content"],
      },
      {
        name: "an unknown size",
        given: write("applications:\n- name: {name}\n  memory: much\n"),
        run: "push",
        refused: ['Process "web": Memory is not a number'],
      },
      {
        name: "--redact-env",
        given: write("applications:\n- name: {name}\n  env: { PASSWORD: hunter2 }\n"),
        run: "push --no-start --redact-env",
        hides: ["hunter2"],
        shows: ["<redacted>"],
        effect: async (run) =>
          expect(await ofApp(run, "environment_variables")).toMatchObject({ var: { PASSWORD: "hunter2" } }),
      },
    ],
  },
  {
    command: "apply-manifest",
    cases: [
      {
        name: "-f, with everything",
        given: write(FULL),
        run: "apply-manifest -f manifest.yml",
        shows: [
          "Applying manifest manifest.yml in org {org} / space {space} as",
          "Updating with these attributes...",
          "OK",
        ],
        effect: async (run) => {
          await expectAll(run);
          await expectState(run, "STOPPED");
        },
      },
      {
        name: "of an app that is there, whose other settings stay",
        given: async (run) => {
          await makeApp(run);
          await write("applications:\n- name: {name}\n  env: { NEW: value }\n")(run);
        },
        run: "apply-manifest -f manifest.yml",
        shows: [/\+\s+NEW: value/],
        effect: async (run) => {
          expect(await ofApp(run, "environment_variables")).toMatchObject({ var: { NEW: "value" } });
          expect(await urlsOf(run)).toEqual([`${run.name}.apps.localhost`]);
          await expectState(run, "STARTED");
        },
      },
      {
        name: "--var",
        given: write("applications:\n- name: {name}\n  memory: ((size))\n"),
        run: "apply-manifest -f manifest.yml --var size=70M",
        effect: async (run) => expect(await processOf(run)).toMatchObject({ memory_in_mb: 70 }),
      },
      {
        name: "a field with a wrong value",
        given: write("applications:\n- name: {name}\n  instances: -3\n"),
        run: "apply-manifest -f manifest.yml",
        refused: ['Process "web": Instances must be greater than or equal to 0'],
      },
      {
        name: "a route on a domain that does not exist",
        given: write("applications:\n- name: {name}\n  routes: [{ route: a.no-such-domain.example }]\n"),
        run: "apply-manifest -f manifest.yml",
        refused: ["No domains exist for route a.no-such-domain.example"],
      },
      {
        name: "by an auditor",
        as: "auditor",
        given: write("applications:\n- name: {name}\n"),
        run: "apply-manifest -f manifest.yml",
        refused: ["You are not authorized to perform the requested action"],
        effect: async (run) => expect(await findApp(run.ground, run.name)).toBeUndefined(),
      },
      {
        name: "a file that does not exist",
        run: "apply-manifest -f nowhere.yml",
        refused: ["Incorrect Usage: The specified path 'nowhere.yml' does not exist."],
      },
    ],
  },
];

// `cf` for flags that the other tables have not: lists by label, variables of a manifest, buildpacks of one name, a quota's plans.
import { expect } from "vitest";
import type { Page } from "../support/api.ts";
import { withBuildpack, writeBuildpack } from "./buildpacks.cases.ts";
import { processOf, ofApp } from "./support/apps.ts";
import type { CaseRun, CommandCases } from "./support/case.ts";
import { exists, lists, makeDomain, makes, makeSpace, read, to, type Shown } from "./support/objects.ts";
import { writeFiles } from "./support/sources.ts";

/** The buildpacks of the case's name, by stack; null is one without a stack. */
async function buildpacksOf(run: CaseRun): Promise<Map<unknown, Shown>> {
  const { resources } = await read<Page<Shown>>(run, `/v3/buildpacks?names=${run.name}`);
  return new Map(resources.map((one) => [one["stack"], one]));
}

/** Two of one name: for the stack host, and without a stack. */
async function twoBuildpacks(run: CaseRun): Promise<void> {
  await withBuildpack(run);
  await run.cf("admin", "update-buildpack", run.name, "--assign-stack", "host");
  await run.cf("admin", "create-buildpack", run.name, "buildpack.zip", "99");
}

async function labelledBuildpacks(run: CaseRun): Promise<void> {
  await twoBuildpacks(run);
  await run.cf("admin", "set-label", "buildpack", run.name, "-s", "host", "env=production");
}

const labelsAre = (ofHost: object) => async (run: CaseRun) => {
  const buildpacks = await buildpacksOf(run);
  expect(buildpacks.get("host")).toMatchObject({ metadata: { labels: ofHost } });
  expect(buildpacks.get(null)?.["metadata"]).toMatchObject({ labels: {} });
};

export const MORE_FLAG_CASES: readonly CommandCases[] = [
  {
    command: "spaces",
    cases: [
      {
        name: "--labels",
        as: "admin",
        given: async (run) => {
          await makeSpace(run);
          await run.cf("admin", "set-label", "space", run.name, `kind=${run.name}`);
        },
        run: "spaces --labels kind={name}",
        hides: [/^dev$/m],
        effect: async (run, output) => {
          lists(output, run.name);
          await exists("spaces", { metadata: { labels: { kind: run.name } } })(run);
        },
      },
    ],
  },
  {
    command: "domains",
    cases: [
      {
        name: "--labels",
        as: "admin",
        given: async (run) => {
          await makeDomain(run);
          await run.cf("admin", "set-label", "domain", `${run.name}.example`, `kind=${run.name}`);
        },
        run: "domains --labels kind={name}",
        hides: ["apps.localhost"],
        effect: (run, output) => Promise.resolve(lists(output, `${run.name}.example`)),
      },
    ],
  },
  {
    command: "apply-manifest",
    cases: [
      {
        name: "--vars-file",
        given: (run) =>
          Promise.resolve(
            writeFiles(run, {
              "manifest.yml": `applications:\n- name: ${run.name}\n  memory: ((size))\n`,
              "vars.yml": "size: 71M\n",
            }),
          ),
        run: "apply-manifest -f manifest.yml --vars-file vars.yml",
        effect: async (run) => expect(await processOf(run)).toMatchObject({ memory_in_mb: 71 }),
      },
      {
        name: "--redact-env",
        given: (run) =>
          Promise.resolve(
            writeFiles(run, { "manifest.yml": `applications:\n- name: ${run.name}\n  env: { KEY: not-shown }\n` }),
          ),
        run: "apply-manifest -f manifest.yml --redact-env",
        shows: [/KEY: <redacted>/],
        hides: ["not-shown"],
        effect: async (run) =>
          expect(await ofApp(run, "environment_variables")).toMatchObject({ var: { KEY: "not-shown" } }),
      },
    ],
  },
  {
    command: "create-buildpack",
    cases: [
      {
        name: "--lifecycle",
        as: "admin",
        given: writeBuildpack,
        run: "create-buildpack {name} buildpack.zip 99 --lifecycle buildpack",
        effect: async (run) => expect((await buildpacksOf(run)).get(null)).toMatchObject({ lifecycle: "buildpack" }),
      },
    ],
  },
  {
    command: "update-buildpack",
    cases: [
      {
        name: "-s, of two with one name",
        as: "admin",
        given: twoBuildpacks,
        run: "update-buildpack {name} -s host --disable",
        shows: ["OK"],
        effect: async (run) => {
          const buildpacks = await buildpacksOf(run);
          expect(buildpacks.get("host")).toMatchObject({ enabled: false });
          expect(buildpacks.get(null)).toMatchObject({ enabled: true });
        },
      },
      {
        name: "-l",
        as: "admin",
        given: withBuildpack,
        run: "update-buildpack {name} -l buildpack --disable",
        effect: async (run) => expect((await buildpacksOf(run)).get(null)).toMatchObject({ enabled: false }),
      },
    ],
  },
  {
    command: "delete-buildpack",
    cases: [
      {
        name: "-s, of two with one name",
        as: "admin",
        given: twoBuildpacks,
        run: "delete-buildpack {name} -s host -f",
        shows: ["OK"],
        effect: async (run) => expect([...(await buildpacksOf(run)).keys()]).toEqual([null]),
      },
      {
        name: "-l of a lifecycle that it has not",
        as: "admin",
        given: withBuildpack,
        run: "delete-buildpack {name} -l cnb -f",
        shows: [/not found/, "OK"],
        effect: async (run) => expect((await buildpacksOf(run)).size).toBe(1),
      },
    ],
  },
  {
    command: "update-space-quota",
    cases: [
      {
        name: "--disallow-paid-service-plans",
        as: "admin",
        given: (run) =>
          makes("space_quotas", {
            services: { paid_services_allowed: true },
            relationships: { organization: to(run.ground.orgGUID) },
          })(run),
        run: "update-space-quota {name} --disallow-paid-service-plans",
        effect: exists("space_quotas", { services: { paid_services_allowed: false } }),
      },
    ],
  },
  {
    command: "set-label",
    cases: [
      {
        name: "-s, of two buildpacks with one name",
        as: "admin",
        given: twoBuildpacks,
        run: "set-label buildpack {name} -s host env=staging",
        shows: ["OK"],
        effect: labelsAre({ env: "staging" }),
      },
    ],
  },
  {
    command: "labels",
    cases: [
      {
        name: "-s, of two buildpacks with one name",
        as: "admin",
        given: labelledBuildpacks,
        run: "labels buildpack {name} -s host",
        shows: [/env\s+production/],
        effect: labelsAre({ env: "production" }),
      },
    ],
  },
  {
    command: "unset-label",
    cases: [
      {
        name: "-s, of two buildpacks with one name",
        as: "admin",
        given: labelledBuildpacks,
        run: "unset-label buildpack {name} -s host env",
        shows: ["OK"],
        effect: labelsAre({}),
      },
    ],
  },
];

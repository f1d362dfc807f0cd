// `cf` for labels: labels, set-label, unset-label on every kind that the platform has.
import { expect } from "vitest";
import type { Page } from "../support/api.ts";
import { makeApp } from "./support/apps.ts";
import type { Case, CaseRun, CommandCases } from "./support/case.ts";
import { noSuchApp } from "./support/refusals.ts";
import type { Who } from "./support/who.ts";

/** A kind with labels: the words after `set-label`, and where the API lists it. */
interface Kind {
  title: string;
  words: string;
  path: string;
  as?: Who;
  /** Whether all cases label the same one. */
  isShared?: true;
}

const KINDS: readonly Kind[] = [
  { title: "an app", words: "app {name}", path: "/v3/apps?names={name}" },
  { title: "an org", words: "org {org}", path: "/v3/organizations?names={org}", as: "org-manager", isShared: true },
  { title: "a space", words: "space {space}", path: "/v3/spaces?guids={spaceGUID}", as: "manager", isShared: true },
  { title: "a route", words: "route {name}.{domain}", path: "/v3/routes?hosts={name}" },
  { title: "a domain", words: "domain {domain}", path: "/v3/domains?names={domain}", as: "admin", isShared: true },
  {
    title: "a buildpack",
    words: "buildpack {buildpack}",
    path: "/v3/buildpacks?names={buildpack}",
    as: "admin",
    isShared: true,
  },
  { title: "a stack", words: "stack host", path: "/v3/stacks?names=host", as: "admin", isShared: true },
];

interface Labelled {
  metadata: { labels: Record<string, string> };
}

async function labelsOf(run: CaseRun, path: string): Promise<Record<string, string> | undefined> {
  const filled = path.replace(/\{(\w+)\}/g, (_, key: string) => run.values[key] ?? "");
  return (await run.ground.api.admin.call<Page<Labelled>>("GET", filled)).resources[0]?.metadata.labels;
}

const stopped = (run: CaseRun): Promise<string> => makeApp(run, { is: "stopped" });

function labelled(who: Who, words: string) {
  return async (run: CaseRun): Promise<void> => {
    await stopped(run);
    const filled = words.replace(/\{(\w+)\}/g, (_, key: string) => run.values[key] ?? "");
    await run.cf(who, "set-label", ...filled.split(" "), "env=production", "team=shop");
  };
}

function casesOf(make: (kind: Kind, as: Who) => Case): Case[] {
  return KINDS.map((kind) => ({ ...make(kind, kind.as ?? "developer"), ...(kind.isShared && { alone: true }) }));
}

export const METADATA_CASES: readonly CommandCases[] = [
  {
    command: "set-label",
    cases: [
      ...casesOf(({ title, words, path }, as) => ({
        name: title,
        as,
        given: stopped,
        run: `set-label ${words} env=staging example.com/owner=me`,
        shows: [/Setting label\(s\) for/, "OK"],
        effect: async (run) =>
          expect(await labelsOf(run, path)).toMatchObject({ env: "staging", "example.com/owner": "me" }),
      })),
      {
        name: "over one that is there",
        given: labelled("developer", "app {name}"),
        run: "set-label app {name} env=staging",
        effect: async (run) =>
          expect(await labelsOf(run, "/v3/apps?names={name}")).toEqual({ env: "staging", team: "shop" }),
      },
      {
        name: "a value that labels cannot have",
        given: stopped,
        run: ["set-label", "app", "{name}", "env=not valid!"],
        refused: ["Metadata label value error: 'not valid!' contains invalid characters"],
      },
      {
        name: "a reserved key",
        given: stopped,
        run: "set-label app {name} cloudfoundry.org/env=x",
        refused: ["cloudfoundry.org"],
      },
      {
        name: "without a value",
        given: stopped,
        run: "set-label app {name} env",
        refused: ["Metadata error: no value provided for label 'env'"],
      },
      {
        name: "by an auditor",
        as: "auditor",
        given: stopped,
        run: "set-label app {name} env=x",
        refused: ["You are not authorized to perform the requested action"],
        effect: async (run) => expect(await labelsOf(run, "/v3/apps?names={name}")).toEqual({}),
      },
      { ...noSuchApp("set-label app", "a=b"), refused: ["App 'no-such-app' not found"] },
    ],
  },
  {
    command: "labels",
    cases: [
      ...casesOf(({ title, words, path }, as) => ({
        name: title,
        as,
        given: labelled(as, words),
        run: `labels ${words}`,
        shows: [/Getting labels for/, /env\s+production/, /team\s+shop/],
        effect: async (run) => expect(await labelsOf(run, path)).toMatchObject({ env: "production", team: "shop" }),
      })),
      {
        name: "none",
        given: stopped,
        run: "labels app {name}",
        shows: ["No labels found."],
        effect: async (run) => expect(await labelsOf(run, "/v3/apps?names={name}")).toEqual({}),
      },
      { name: "an unknown kind", run: "labels planet earth", refused: ["Unsupported resource type of 'planet'"] },
      noSuchApp("labels app"),
    ],
  },
  {
    command: "unset-label",
    cases: [
      ...casesOf(({ title, words, path }, as) => ({
        name: title,
        as,
        given: labelled(as, words),
        run: `unset-label ${words} env`,
        shows: [/Removing label\(s\) for/, "OK"],
        effect: async (run) => expect(await labelsOf(run, path)).not.toHaveProperty("env"),
      })),
      {
        name: "one that is not there",
        given: labelled("developer", "app {name}"),
        run: "unset-label app {name} nothing",
        shows: ["OK"],
        effect: async (run) =>
          expect(await labelsOf(run, "/v3/apps?names={name}")).toEqual({ env: "production", team: "shop" }),
      },
      noSuchApp("unset-label app", "a"),
    ],
  },
];

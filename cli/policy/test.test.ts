// `cup policy test` with a folder of policies: verdicts, exit codes, and the faults of files.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { parseDocuments } from "./documents.ts";
import type { Verdict } from "../../crds/policy-template/verdict.ts";
import type { TestOptions } from "./test.ts";
import { constraint, judge, manifest, object } from "./testing/judge-files.ts";

const NOWHERE = { org: undefined, space: undefined } as unknown as Partial<TestOptions>;

const labels = { parameters: { labels: [{ key: "owner" }] } };

test("JSON is the verdict; people read a line for each violation, and the sum", async () => {
  const { json, text } = await judge([constraint("RequiredLabels", labels)], [manifest({})]);
  expect(json).toEqual({
    allowed: false,
    violations: [
      {
        template: "RequiredLabels",
        constraint: "one",
        generation: 1,
        action: "deny",
        rule: 0,
        field: "metadata.labels",
        message: "needs the label owner",
        object: { kind: "App", namespace: "acme-prod", name: "shop" },
      },
    ],
    skipped: [],
    unknown: [],
  });
  expect(text).toEqual([
    "deny   App/shop   metadata.labels   Required labels: needs the label owner (policy one)",
    "4 objects judged, 1 denied, 0 warned",
  ]);
});

describe("exit codes", () => {
  const warn = constraint("RequiredLabels", { ...labels, enforcement: { action: "warn" } });
  const ciWarns = constraint("RequiredLabels", {
    ...labels,
    enforcement: { action: "deny", points: [{ point: "ci", action: "warn" }] },
  });
  const dryrun = constraint("RequiredLabels", { ...labels, enforcement: { action: "dryrun" } });
  const inProd = constraint("RequiredLabels", { ...labels, match: { spaces: ["acme/prod"] } });
  const inSilver = constraint("RequiredLabels", {
    ...labels,
    match: { spaceLabels: { matchLabels: { tier: "silver" } } },
  });
  const exempt = constraint("RequiredLabels", {
    ...labels,
    match: { except: [{ space: "acme/prod", until: "2999-01-01T00:00:00Z", reason: "CHG-17" }] },
  });

  test.each<[string, object, Partial<TestOptions>, number]>([
    ["a warning", warn, {}, 0],
    ["a warning with --fail-on warn", warn, { failOn: "warn" }, 1],
    ["a constraint that only warns in CI", ciWarns, {}, 0],
    ["a dry run with --fail-on warn", dryrun, { failOn: "warn" }, 0],
    ["a constraint on this space", inProd, {}, 1],
    ["a constraint on another space", inProd, { space: "dev" }, 0],
    ["a constraint on spaces without a space", inProd, NOWHERE, 2],
    ["a constraint on labels that the space has", inSilver, { spaceLabel: ["tier=silver"] }, 1],
    ["a constraint on labels that it does not have", inSilver, { spaceLabel: ["tier=gold"] }, 0],
    ["an exception", exempt, {}, 0],
    ["an exception somewhere without a space", exempt, NOWHERE, 2],
    ["a constraint on everything without a space", constraint("RequiredLabels", labels), NOWHERE, 1],
  ])("%s", async (_what, policy, options, expected) => {
    expect((await judge([policy], [manifest({})], options)).exitCode).toBe(expected);
  });

  test("a default route without a domain leaves constraints on routes open", async () => {
    const hosts = constraint("HostPattern", { parameters: { pattern: "shop" } });
    const { exitCode, json, text } = await judge([hosts], [manifest({})], { domain: [] });
    expect([exitCode, json]).toEqual([2, { allowed: true, violations: [], skipped: ["HostPattern/one"], unknown: [] }]);
    expect(text[0]).toContain("add --domain NAME: the default route of shop is on it");
  });

  test("a rule about users needs --as", async () => {
    const template = {
      apiVersion: "cupola.dev/v1alpha1",
      kind: "PolicyTemplate",
      metadata: { name: "onlybots" },
      spec: {
        kind: "OnlyBots",
        title: "Bots only",
        subjects: ["App"],
        needs: ["user"],
        rules: [{ expression: "request.userInfo.username.startsWith('bot-')", message: "a bot deploys here" }],
      },
    };
    const policies = [template, constraint("OnlyBots", {})];
    const codes = [{}, { as: "ada" }, { as: "bot-1" }].map(
      async (options) => (await judge(policies, [manifest({})], options)).exitCode,
    );
    expect(await Promise.all(codes)).toEqual([2, 1, 0]);
  });
});

describe("a rule that reads other objects", () => {
  const template = {
    apiVersion: "cupola.dev/v1alpha1",
    kind: "PolicyTemplate",
    metadata: { name: "fewapps" },
    spec: {
      kind: "FewApps",
      title: "Few apps",
      subjects: ["App"],
      reads: [{ as: "apps", kind: "App", scope: "space" }],
      rules: [{ expression: "refs.apps.size() < 2", message: "this space has two apps already" }],
    },
  };
  const policies = [template, constraint("FewApps", {})];
  const app = (name: string): object => object("App", {}, { name });

  test("is undecided without them, and the next step names the option", async () => {
    const { exitCode, json, text } = await judge(policies, [app("a")]);
    expect([exitCode, json]).toEqual([2, { allowed: true, violations: [], skipped: [], unknown: ["FewApps/one"] }]);
    expect(text[0]).toMatch(/undecided +FewApps\/one +add --refs FILE/);
    expect((await judge(policies, [app("a")], NOWHERE)).text[0]).toContain("add --org NAME and --space NAME");
  });

  test("reads those of --refs, and those under test", async () => {
    const root = mkdtempSync(join(tmpdir(), "cup-policy-refs-"));
    try {
      const file = join(root, "apps.json");
      const existing = (...names: string[]): void =>
        writeFileSync(file, JSON.stringify({ kind: "List", items: names.map(app) }));
      const codeOf = async (...names: string[]) => (await judge(policies, names.map(app), { refs: [file] })).exitCode;
      existing("a", "b");
      expect([await codeOf("a"), await codeOf("c")]).toEqual([0, 1]);
      existing();
      expect([await codeOf("a"), await codeOf("a", "b"), await codeOf("a", "b", "c")]).toEqual([0, 0, 1]);
    } finally {
      rmSync(root, { recursive: true, force: true });
    }
  });
});

describe("objects", () => {
  test("in their own namespace keep it, and other kinds pass by", async () => {
    const files = [object("App", {}, { namespace: "elsewhere" }), { apiVersion: "v1", kind: "ConfigMap" }];
    const { json, text } = await judge([constraint("RequiredLabels", labels)], files);
    expect(json).toMatchObject({ violations: [{ object: { namespace: "elsewhere" } }] });
    expect(text.at(-1)).toBe("1 object judged, 1 denied, 0 warned");
  });

  test("of a push are the source and the bindings, too", async () => {
    const template = {
      apiVersion: "cupola.dev/v1alpha1",
      kind: "PolicyTemplate",
      metadata: { name: "never" },
      spec: {
        kind: "Never",
        title: "Never",
        subjects: ["Package", "ServiceBinding"],
        rules: [{ expression: "object.kind == 'Package' && object.spec.type != 'bits'" }],
      },
    };
    const services = ["db", { name: "cache", binding_name: "c" }];
    const { json } = await judge([template, constraint("Never", {})], [manifest({ services })]);
    const kinds = (json as Verdict).violations.map(({ object: { kind } }) => kind);
    expect(kinds).toEqual(["Package", "ServiceBinding", "ServiceBinding"]);
  });

  test("of a List are judged", async () => {
    const list = { apiVersion: "v1", kind: "List", items: [object("App", {})] };
    expect((await judge([constraint("RequiredLabels", labels)], [list])).exitCode).toBe(1);
  });

  test("that are Orgs and Spaces match by their own names and labels", async () => {
    const policy = constraint("RequiredLabels", { ...labels, match: { spaces: ["acme/prod"] } });
    const space = object("Space", {}, { name: "prod", namespace: "acme" });
    expect((await judge([policy], [space], { space: "dev" })).exitCode).toBe(1);
  });

  test("get the defaults of their schema", async () => {
    const size = constraint("SizeLimit", { parameters: { maxMemoryMB: 512 } });
    const process = object("Process", { appRef: { name: "shop" } }, { name: "shop.web" });
    expect((await judge([size], [process])).exitCode).toBe(1);
  });
});

test("a folder counts as its files", async () => {
  const root = mkdtempSync(join(tmpdir(), "cup-policy-files-"));
  try {
    const app = 'apiVersion: cupola.dev/v1alpha1\nkind: App\nmetadata: { name: "NAME" }\nspec: {}\n';
    mkdirSync(join(root, "nested"));
    writeFileSync(join(root, "a.yaml"), app.replace("NAME", "a"));
    writeFileSync(join(root, "nested", "manifest.yml"), "applications: [{ name: b }]\n");
    writeFileSync(join(root, "README.md"), "no YAML: [");
    const { json } = await judge([constraint("RequiredLabels", labels)], [], { file: [root] });
    expect((json as Verdict).violations.map(({ object: { name } }) => name)).toEqual(["a", "b"]);
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
});

describe("faults end with exit code 2 and the place", () => {
  const fine = constraint("RequiredLabels", labels);
  const twice = object("App", { state: "Runing" });

  test.each<[string, object[], object[], RegExp]>([
    [
      "an unknown field",
      [fine],
      [object("App", { nope: 1 })],
      /input\.yaml \(App shop\): there is no field spec\.nope$/,
    ],
    ["a wrong value", [fine], [object("App", {}), twice], /document 2 \(App shop\): spec\.state: Unsupported value/],
    [
      "another version",
      [fine],
      [{ ...object("App", {}), apiVersion: "cupola.dev/v2" }],
      /apiVersion must be cupola\.dev/,
    ],
    ["a manifest's typing error", [fine], [manifest({ memroy: "1G" })], /no key memroy; did you mean memory\?/],
    ["nothing to judge", [fine], [{ apiVersion: "v1", kind: "ConfigMap" }], /no object that a policy judges/],
    ["a kind without a template", [constraint("Nope", {})], [manifest({})], /all\.yaml \(Nope one\): no template/],
    ["missing parameters", [constraint("RequiredLabels", {})], [manifest({})], /spec\.parameters: Required value/],
    [
      "parameters of another type",
      [constraint("SizeLimit", { parameters: { maxMemoryMB: "512M" } })],
      [manifest({})],
      /spec\.parameters\.maxMemoryMB: Invalid value/,
    ],
    ["two constraints of a name", [fine, fine], [manifest({})], /there are two constraints RequiredLabels\/one/],
    ["no constraint", [object("App", {})], [manifest({})], /has no constraints/],
    [
      "a template that does not compile",
      [
        fine,
        object(
          "PolicyTemplate",
          { kind: "Bad", title: "Bad", subjects: ["App"], rules: [{ expression: "object.spec ==" }] },
          { name: "bad" },
        ),
      ],
      [manifest({})],
      /spec\.rules\[0\]\.expression: it does not compile/,
    ],
  ])("%s", async (_what, policies, files, message) => {
    await expect(judge(policies, files)).rejects.toMatchObject({
      message: expect.stringMatching(message),
      exitCode: 2,
      next: expect.any(String),
    });
  });

  test("text that is no YAML", () => {
    expect(() => parseDocuments("a: [1\n", "broken.yaml")).toThrow(/^broken\.yaml is no valid YAML: /);
  });
});

// Work of people with kubectl, on both servers: an unmodified client finds bugs that rows written by hand do not.
import { execFile, spawn } from "node:child_process";
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { kubeconfigText } from "../../../kube/client/kubeconfig-text.ts";
import { provideBinaries, whyNoControlPlane } from "../../cluster/binaries.ts";
import { startControlPlane } from "../../cluster/control-plane.ts";
import { startEmbedded } from "../embedded-server.ts";
import { widget, widgetCrd } from "./row.ts";
import type { Server } from "./suite.ts";

interface Outcome {
  code: number;
  out: string;
  err: string;
}

const reason = whyNoControlPlane();
if (reason) test.skip(`kubectl on both servers: skipped, ${reason}`, () => undefined);

const servers: [string, () => Promise<Server>][] = reason
  ? []
  : [
      ["kube-apiserver", startControlPlane],
      ["embedded", startEmbedded],
    ];

describe.each(servers)("kubectl on %s", (_name, start) => {
  const dir = mkdtempSync(join(tmpdir(), "cupola-kubectl-"));
  const config = join(dir, "kubeconfig");
  let server: Server;
  let program: string;

  const environment = (more: Record<string, string> = {}) => ({
    ...process.env,
    KUBECONFIG: config,
    HOME: dir,
    KUBECTL_KYAML: "false",
    ...more,
  });
  const kubectl = (args: string, options: { input?: string; env?: Record<string, string> } = {}): Promise<Outcome> =>
    new Promise((resolve) => {
      const child = execFile(
        program,
        args.match(/'[^']*'|\S+/g)!.map((part) => part.replace(/^'|'$/g, "")),
        { env: environment(options.env), timeout: 25_000 },
        (error, out, err) => resolve({ code: error ? Number(error.code ?? 1) : 0, out, err }),
      );
      child.stdin?.end(options.input ?? "");
    });
  /** Must succeed; answers what it printed. */
  const ok = async (args: string, options: { input?: string; env?: Record<string, string> } = {}) => {
    const { code, out, err } = await kubectl(args, options);
    expect(code, `kubectl ${args}: ${err}${out}`).toBe(0);
    return out;
  };

  beforeAll(async () => {
    program = (await provideBinaries()).kubectl;
    server = await start();
    writeFileSync(
      config,
      kubeconfigText({ server: server.url, ca: server.ca, users: [{ name: "admin", token: server.adminToken }] }),
    );
    await ok("apply -f -", { input: JSON.stringify(widgetCrd) });
    await ok("wait --for=condition=Established crd/widgets.conformance.example --timeout=20s");
    await vi.waitFor(async () => await ok("get widgets -A"), { timeout: 20_000, interval: 300 });
    await ok("create namespace shop");
  }, 120_000);

  afterAll(async () => {
    await server?.stop();
    rmSync(dir, { recursive: true, force: true });
  });

  const apply = async (name: string, spec: object) =>
    await ok("apply --server-side -n shop -f -", { input: JSON.stringify(widget(name, spec)) });

  test("apply --server-side, get as table, wide, yaml, jsonpath, by label and by category", async () => {
    expect(await apply("one", { size: 3, note: "hello" })).toBe("widget.conformance.example/one serverside-applied\n");
    expect(await ok("get wg -n shop")).toMatch(/^NAME +SIZE +READY +AGE\none +3 +\d+s\n$/);
    expect(await ok("get widgets one -n shop -o wide")).toMatch(
      /^NAME +SIZE +READY +NOTE +AGE\none +3 +hello +\d+s\n$/,
    );
    expect(await ok("get widget/one -n shop -o yaml")).toContain(
      "\nspec:\n  nested:\n    mode: auto\n  note: hello\n  replicas: 1\n  size: 3\n",
    );
    expect(await ok("get widgets one -n shop -o jsonpath={.spec.size}")).toBe("3");
    await ok("label widget one -n shop tier=web");
    expect(await ok("get widgets -A -l tier=web -o name")).toBe("widget.conformance.example/one\n");
    expect(await ok("get conformance -n shop -o name")).toBe("widget.conformance.example/one\n");
    expect((await kubectl("get widget none -n shop")).err).toBe(
      'Error from server (NotFound): widgets.conformance.example "none" not found\n',
    );
  });

  test("client-side apply: created, unchanged, configured", async () => {
    const input = (size: number) => ({ input: JSON.stringify(widget("two", { size })) });
    expect(await ok("apply -n shop -f -", input(1))).toContain("created");
    expect(await ok("apply -n shop -f -", input(1))).toContain("unchanged");
    expect(await ok("apply -n shop -f -", input(2))).toContain("configured");
    expect(await ok("diff -n shop -f -", input(2))).toBe("");
    expect((await kubectl("diff -n shop -f -", input(4))).out).toContain("+  size: 4");
  });

  test("client-side apply, diff and edit of a built-in kind: three ways, by merge keys", async () => {
    const deployment = (image: string, env: string[]) => ({
      input: JSON.stringify({
        apiVersion: "apps/v1",
        kind: "Deployment",
        metadata: { name: "web" },
        spec: {
          replicas: 0,
          selector: { matchLabels: { app: "web" } },
          template: {
            metadata: { labels: { app: "web" } },
            spec: { containers: [{ name: "web", image, env: env.map((name) => ({ name, value: "1" })) }] },
          },
        },
      }),
    });
    const look = async () =>
      await ok(
        "get deployment web -n shop -o 'jsonpath={.spec.replicas} {.spec.template.spec.containers[*].image} {.spec.template.spec.containers[*].env[*].name}'",
      );
    expect(await ok("apply -n shop -f -", deployment("web:1", ["A", "B"]))).toContain("created");
    // Fields of others stay, fields that the configuration drops go.
    await ok(
      `patch deployment web -n shop -p '{"spec":{"template":{"spec":{"containers":[{"name":"web","env":[{"name":"THEIRS","value":"1"}]},{"name":"side","image":"side:1"}]}}}}'`,
    );
    const { code, out } = await kubectl("diff -n shop -f -", deployment("web:2", ["A", "C"]));
    expect([code, out]).toEqual([1, expect.stringMatching(/^\+ +image: web:2$/m)]);
    expect(out).toMatch(/^- +- name: B$/m);
    expect(await ok("apply -n shop -f -", deployment("web:2", ["A", "C"]))).toContain("configured");
    const after = await look();
    expect(after.split(" ").sort()).toEqual(["0", "A", "C", "THEIRS", "side:1", "web:2"]);
    const editor = join(dir, "editor-image.sh");
    writeFileSync(editor, '#!/bin/sh\nsed -i "s/web:2/web:3/" "$1"\n');
    chmodSync(editor, 0o700);
    expect(await ok("edit deployment web -n shop", { env: { KUBE_EDITOR: editor } })).toContain("web edited");
    expect(await look()).toContain("web:3");
    expect(await ok("apply --prune=false -n shop -f -", deployment("web:4", []))).toContain("configured");
    expect((await look()).split(" ").sort()).toEqual(["0", "THEIRS", "side:1", "web:4"]);
    await ok("delete deployment web -n shop --cascade=orphan");
  });

  test("a conflict names the owner of the field", async () => {
    await apply("owned", { size: 3 });
    const refused = await kubectl("apply --server-side --field-manager=other -n shop -f -", {
      input: JSON.stringify(widget("owned", { size: 4 })),
    });
    expect([refused.code, refused.err]).toEqual([1, expect.stringContaining('conflict with "kubectl": .spec.size')]);
    await ok("apply --server-side --field-manager=other --force-conflicts -n shop -f -", {
      input: JSON.stringify(widget("owned", { size: 4 })),
    });
    expect(await ok("get widget owned -n shop --show-managed-fields -o yaml")).toContain("manager: other");
  });

  test("create, describe, edit, patch, annotate, scale, delete", async () => {
    await ok("create -n shop -f -", { input: JSON.stringify(widget("three", { size: 3 })) });
    expect(await ok("describe widget three -n shop")).toMatch(
      /Name: +three\nNamespace: +shop[\s\S]*Spec:[\s\S]*Size: +3/,
    );
    const editor = join(dir, "editor.sh");
    writeFileSync(editor, '#!/bin/sh\nsed -i "s/size: 3/size: 5/" "$1"\n');
    chmodSync(editor, 0o700);
    expect(await ok("edit widget three -n shop", { env: { KUBE_EDITOR: editor } })).toContain("three edited");
    await ok(`patch widget three -n shop --type=merge -p '{"spec":{"note":"hi"}}'`);
    await ok(`patch widget three -n shop --type=json -p '[{"op":"replace","path":"/spec/replicas","value":2}]'`);
    await ok(
      `patch widget three -n shop --subresource=status --type=merge -p '{"status":{"conditions":[{"type":"Ready","status":"True"}]}}'`,
    );
    await ok("annotate widget three -n shop why=because");
    await ok("scale widget three -n shop --replicas=4");
    await ok("wait --for=condition=Ready widget/three -n shop --timeout=5s");
    await ok("wait --for=jsonpath={.spec.replicas}=4 widget/three -n shop --timeout=5s");
    expect(
      await ok(
        "get widget three -n shop -o 'jsonpath={.spec.size} {.spec.note} {.spec.replicas} {.metadata.annotations.why}'",
      ),
    ).toBe("5 hi 4 because");
    expect(await ok("delete widget three -n shop --timeout=10s")).toMatch(/widget.conformance.example "three" deleted/);
    expect(
      (await kubectl("create -n shop -f -", { input: JSON.stringify(widget("bad", { size: -1 })) })).err,
    ).toContain("spec.size in body should be greater than or equal to 0");
    expect((await kubectl("create -n shop -f -", { input: JSON.stringify(widget("bad", { sise: 1 })) })).err).toContain(
      'unknown field "spec.sise"',
    );
  });

  test("get -w shows a change as it comes", async () => {
    await apply("watched", { size: 1 });
    const watching = spawn(program, ["get", "widget", "watched", "-n", "shop", "-w"], {
      env: environment(),
      stdio: ["ignore", "pipe", "inherit"],
    });
    let printed = "";
    watching.stdout.on("data", (chunk: Buffer) => (printed += chunk.toString()));
    try {
      await vi.waitFor(() => expect(printed).toMatch(/watched +1 /), { timeout: 10_000 });
      await apply("watched", { size: 8 });
      await vi.waitFor(() => expect(printed).toMatch(/watched +8 /), { timeout: 10_000 });
    } finally {
      watching.kill();
    }
  });

  test("explain, api-resources, api-versions, version", async () => {
    expect(await ok("explain widgets.spec.size")).toMatch(
      /KIND: +Widget[\s\S]*FIELD: size <integer>[\s\S]*How large\./,
    );
    expect(await ok("explain widgets --recursive")).toContain("ports");
    expect(await ok("explain configmap.data")).toContain("map[string]string");
    expect(await ok("api-resources --api-group=conformance.example")).toMatch(
      /widgets +wg +conformance\.example\/v1 +true +Widget/,
    );
    expect(await ok("api-versions")).toContain("conformance.example/v1\n");
    expect(await ok("version")).toMatch(/Server Version: v1\.\d+/);
  });

  test("secrets, config maps, service accounts, tokens, roles, can-i", async () => {
    await ok("create configmap settings -n shop --from-literal=a=b");
    expect(await ok("get configmap settings -n shop")).toMatch(/^NAME +DATA +AGE\nsettings +1 +\d+s\n$/);
    await ok("create secret generic keys -n shop --from-literal=a=b");
    expect(await ok("get secret keys -n shop -o jsonpath={.data.a}")).toBe("Yg==");
    expect(await ok("describe secret keys -n shop")).toMatch(/a: +1 bytes/);
    await ok("create serviceaccount robot -n shop");
    await ok("create role reader -n shop --verb=get,list --resource=widgets.conformance.example");
    await ok("create rolebinding reader -n shop --role=reader --serviceaccount=shop:robot");
    const robot = "--as=system:serviceaccount:shop:robot";
    await vi.waitFor(
      async () => expect(await ok(`auth can-i get widgets.conformance.example -n shop ${robot}`)).toBe("yes\n"),
      { timeout: 10_000, interval: 200 },
    );
    expect((await kubectl(`auth can-i delete widgets.conformance.example/one -n shop ${robot}`)).out).toBe("no\n");
    expect((await kubectl(`delete widget one -n shop --dry-run=server ${robot}`)).err).toContain("cannot");
    const token = (await ok("create token robot -n shop --duration=10m")).trim();
    expect(token.split(".")).toHaveLength(3);
    expect(await ok("auth whoami")).toMatch(/Username +admin/);
    expect(await ok(`auth can-i --list -n shop ${robot}`)).toMatch(
      /widgets\.conformance\.example +\[\] +\[\] +\[get list\]/,
    );
  });

  test("deleting a namespace deletes its objects", async () => {
    await ok("create namespace short");
    await ok("create configmap a -n short");
    expect(await ok("get all,configmap -n short -o name")).toContain("configmap/a");
    await ok("delete namespace short --timeout=20s");
    expect((await kubectl("get configmap a -n short")).code).toBe(1);
  });
});

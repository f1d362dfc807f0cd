// Kinds never go back: not by `helm rollback`, not by an older chart, not by `kubectl`. Objects keep the fields that the older kind lacks.
import { cpSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { runCommand } from "../../../scripts/run-command.ts";
import { whyNoBinaries, whyNoControlPlane } from "../../cluster/binaries.ts";
import { startControlPlane, type ControlPlane } from "../../cluster/control-plane.ts";
import { eventually } from "../../eventually.ts";
import { CHART, useChart, VALUES } from "./chart.ts";

const reason = whyNoControlPlane() ?? whyNoBinaries(["helm"]);
if (reason) console.log(`the chart and older kinds: skipped, ${reason}`);

const NEWER = "99.1.0";
const DEADLINE_MS = 120_000;
const SENTENCE = /kinds never go back/;

describe.skipIf(reason)("kinds of a newer chart", { timeout: 10 * 60_000 }, () => {
  const { folder, binary, helm } = useChart();
  const newer = join(folder, "newer");
  let plane: ControlPlane;

  const must = async (outcome: Promise<{ code: number | null; output: string }>): Promise<string> => {
    const { code, output } = await outcome;
    expect(code, output.slice(-3000)).toBe(0);
    return output;
  };
  const kubectl = (...args: string[]) =>
    runCommand([plane.kubectl, "--kubeconfig", plane.kubeconfig, ...args], { cwd: folder, deadlineMs: DEADLINE_MS });
  const upgrade = (chart: string) =>
    helm(["upgrade", "--install", "cupola", chart, "--create-namespace", "--no-hooks"], VALUES, plane.kubeconfig);
  const readKinds = (): Promise<string> =>
    must(kubectl("get", "crd", "-o", "jsonpath={range .items[*]}{.metadata.name} {.spec}{'\\n'}{end}"));
  const readLater = (): Promise<string> => must(kubectl("get", "cforg", "acme", "-o", "jsonpath={.spec.later}"));
  /** A change of an object makes kube-apiserver drop fields that its kind lacks. */
  const touch = (value: string): Promise<string> =>
    must(kubectl("annotate", "cforg", "acme", "--overwrite", `example.org/touched=${value}`));

  beforeAll(async () => {
    plane = await startControlPlane();
    cpSync(CHART, newer, { recursive: true });
    edit(join(newer, "Chart.yaml"), /^version: .*$/m, `version: ${NEWER}`);
    const kind = join(newer, "files", "crds", "orgs.cupola.dev.yaml");
    edit(kind, /^( +)spec:\n +type: object\n +properties:\n/m, "$&$1    later:\n$1      type: string\n");
    await must(upgrade(CHART));
    await must(upgrade(newer));
    const file = join(folder, "org.yaml");
    writeFileSync(file, "{apiVersion: cupola.dev/v1alpha1, kind: Org, metadata: {name: acme}, spec: {later: kept}}\n");
    await eventually(() => must(kubectl("apply", "-f", file)), DEADLINE_MS);
    await eventually(async () => expect(await readLater()).toBe("kept"));
  }, 10 * 60_000);
  afterAll(() => plane?.stop());

  test.each([
    [
      "helm rollback",
      () =>
        runCommand([binary(), "rollback", "cupola", "1", "-n", "cupola-system", "--no-hooks", "--force-conflicts"], {
          cwd: folder,
          deadlineMs: DEADLINE_MS,
          env: { KUBECONFIG: plane.kubeconfig },
        }),
    ],
    ["helm upgrade with the older chart", () => upgrade(CHART)],
    ["kubectl annotate", () => kubectl("annotate", "crd", "orgs.cupola.dev", "cupola.dev/schema-version-")],
  ])("are refused to %s, and objects keep their fields", async (name, goBack) => {
    const before = await readKinds();
    const { code, output } = await goBack();
    expect([code === 0, output]).toEqual([false, expect.stringMatching(SENTENCE)]);
    expect(await readKinds()).toBe(before);
    await touch(name.replaceAll(" ", "-"));
    expect(await readLater()).toBe("kept");
  });

  test("are those of the next upgrade, and older code runs with the newer chart", async () => {
    const values = { ...VALUES, image: { ...VALUES.image, tag: "0.1.0" } };
    await must(helm(["upgrade", "cupola", newer, "--no-hooks", "--force-conflicts"], values, plane.kubeconfig));
    const read = "jsonpath={.items[*].spec.template.spec.containers[0].image}";
    const images = await must(kubectl("get", "deployments", "-n", "cupola-system", "-o", read));
    expect(new Set(images.split(" "))).toEqual(new Set([`${VALUES.image.repository}:0.1.0`]));
    expect(await readLater()).toBe("kept");
  });
});

function edit(file: string, search: RegExp, replacement: string): void {
  const text = readFileSync(file, "utf8");
  const edited = text.replace(search, replacement);
  if (edited === text) throw new Error(`${file} has nothing like ${search.source}`);
  writeFileSync(file, edited);
}

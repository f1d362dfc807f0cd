// A folder of policies and files to judge by them, for tests of `cup policy test`.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { stringify } from "yaml";
import { silentProgress, type Result } from "../../output.ts";
import { testPolicies, type TestOptions } from "../test.ts";

export const constraint = (kind: string, spec: object, name = "one"): object => ({
  apiVersion: "constraints.cupola.dev/v1alpha1",
  kind,
  metadata: { name },
  spec,
});

export const object = (kind: string, spec: object, metadata: object = {}): object => ({
  apiVersion: "cupola.dev/v1alpha1",
  kind,
  metadata: { name: "shop", ...metadata },
  spec,
});

export const manifest = (app: object): object => ({ applications: [{ name: "shop", ...app }] });

function write(path: string, documents: readonly object[]): string {
  mkdirSync(join(path, ".."), { recursive: true });
  writeFileSync(path, documents.map((one) => stringify(one)).join("---\n"));
  return path;
}

/** Tests documents by constraints, in acme/prod unless `more` says otherwise. The folder is gone afterwards. */
export async function judge(
  policies: readonly object[],
  files: readonly object[],
  more: Partial<TestOptions> = {},
): Promise<Result> {
  const root = mkdtempSync(join(tmpdir(), "cup-policy-"));
  try {
    write(join(root, "policies", "nested", "all.yaml"), policies);
    const file = [write(join(root, "input.yaml"), files)];
    const place = { org: "acme", space: "prod", domain: ["apps.example"] };
    return await testPolicies(silentProgress, { file, policies: join(root, "policies"), ...place, ...more });
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
}

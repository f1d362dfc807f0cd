// The state of a package, and which packages are in use.
import { expect, test } from "vitest";
import { aBuild, aDroplet, anApp, aPackage } from "../../crds/testing/objects.ts";
import { planPackage, planPackagesInUse } from "./plan.ts";

const content = { digest: `sha256:${"a".repeat(64)}`, size: 1 };

test.each<[string, ReturnType<typeof aPackage>, boolean | undefined, [state: string, reason?: string]]>([
  ["an image is ready at once", aPackage({ type: "docker", image: "x" }), undefined, ["Ready"]],
  ["an image without a name fails", aPackage({ type: "docker" }), undefined, ["Failed", "ImageMissing"]],
  ["bits are waited for", aPackage(), undefined, ["AwaitingUpload", "AwaitingUpload"]],
  ["files in the object are ready at once", aPackage({ files: { "index.html": "hello" } }), undefined, ["Ready"]],
  ["bits that are there", aPackage({ content }), true, ["Ready"]],
  ["bits of another space are not there", aPackage({ content }), false, ["ProcessingUpload", "ContentMissing"]],
])("%s", (_what, pkg, has, [state, reason]) => {
  const planned = planPackage(pkg, has);
  expect(planned.status).toMatchObject({ state });
  expect(planned.ready?.reason).toBe(reason);
});

test("a package is in use while it is built, or behind an app's droplet", () => {
  const inUse = planPackagesInUse(
    [anApp({ droplet: { name: "d1" } })],
    [aBuild(), aBuild({ packageRef: { name: "done" } }, { status: { state: "Staged" } })],
    [aDroplet({ packageRef: { name: "behind" } }), aDroplet({ packageRef: { name: "old" } }, "d0")],
  );
  const named = (name: string): boolean => inUse(aPackage({}, { metadata: { name } }));
  expect(["p1", "behind", "done", "old"].map(named)).toEqual([true, true, false, false]);
});

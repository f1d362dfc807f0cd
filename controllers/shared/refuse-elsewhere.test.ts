// Apps that other clusters cannot run say so, with the next step.
import { expect, test } from "vitest";
import type { Revision } from "../../crds/revision/revision.ts";
import { refusePullSecret, refuseVolumes } from "./refuse-elsewhere.ts";

const revision = (volumes?: object[]): Pick<Revision, "spec"> =>
  ({ spec: { version: 7, ...(volumes && { volumes }) } }) as unknown as Revision;

test("volumes keep a version on the platform's own cluster", () => {
  expect(() => refuseVolumes(revision([{ claimName: "data" }]))).toThrow(
    /^revision 7 mounts volumes .* stop the app and start it/,
  );
  for (const without of [revision(), revision([])]) expect(() => refuseVolumes(without)).not.toThrow();
});

test("so does a credential of the app for its image, but not the registry's own, which each cluster has", () => {
  expect(() => refusePullSecret({ imagePullSecretRef: { name: "shop-pull" } })).toThrow(
    /credential of the app, .* cluster local alone/,
  );
  for (const name of [undefined, "cupola-registry"])
    expect(() => refusePullSecret(name === undefined ? {} : { imagePullSecretRef: { name } })).not.toThrow();
});

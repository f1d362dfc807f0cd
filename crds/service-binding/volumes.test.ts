// Volumes of brokers: those that can be mounted, and words for all others.
import { expect, test } from "vitest";
import { MAX_VOLUMES, toVolumes } from "./volumes.ts";

const mount = (more: object = {}): object => ({
  driver: "persistentvolumeclaim",
  container_dir: "/data/models/",
  mode: "r",
  device_type: "shared",
  device: { volume_id: "models", mount_config: { password: "s3cret" } },
  ...more,
});

test.each([
  ["r", true],
  ["rw", false],
])("mode %s", (mode, readOnly) => {
  expect(toVolumes([mount({ mode })])).toEqual({
    claims: [{ claimName: "models", mountPath: "/data/models", readOnly }],
  });
});

test.each<[unknown, RegExp]>([
  ["odd", /of a volume is not as/],
  [null, /of a volume is not as/],
  [mount({ mode: "x" }), /^mode of a volume/],
  [mount({ device_type: "own" }), /^device_type of a volume/],
  [mount({ device: {} }), /^device.volume_id of a volume/],
  [mount({ device: { volume_id: "../s3cret" } }), /no name of a claim/],
  [mount({ driver: "nfsv3driver" }), /driver nfsv3driver cannot be mounted/],
  ...["/", "data", "/etc/x", "/proc", "/cnb/x", "/workspace", "/a/../etc", "/a//b", "/a:b", "/layers/"].map(
    (container_dir): [unknown, RegExp] => [mount({ container_dir }), /nothing can be mounted at/],
  ),
])("%j is refused without a secret", (given, words) => {
  const { problem } = toVolumes([given]) as { problem: string };
  expect(problem).toMatch(words);
  expect(problem).not.toContain("s3cret");
});

test("below the app's own folder there is room", () => {
  expect(toVolumes([mount({ container_dir: "/home/vcap/app/models" })])).toMatchObject({
    claims: [{ mountPath: "/home/vcap/app/models" }],
  });
});

test("two volumes at one place, and too many", () => {
  expect(toVolumes([mount(), mount()])).toMatchObject({ problem: "two volumes are to be at /data/models" });
  const many = Array.from({ length: MAX_VOLUMES + 1 }, (_, n) => mount({ container_dir: `/data/${n}` }));
  expect(toVolumes(many)).toMatchObject({ problem: expect.stringMatching(/there are 21 volumes/) as string });
});

// How `/readyz` reports the disk.
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { mountSmallDisk, whyNoSmallDisk } from "../kube/testing/small-disk.ts";
import { checkDiskSpace } from "./disk-space.ts";

const noDisk = whyNoSmallDisk();

test("a disk with space is fine, a missing folder is named", () => {
  expect(checkDiskSpace(tmpdir())).toBe(true);
  const missing = join(tmpdir(), "no-such-folder");
  expect(checkDiskSpace(missing)).toEqual({ degraded: `the folder ${missing} cannot be read` });
});

test.skipIf(noDisk)("a full disk degrades, until there is space again", () => {
  const disk = mountSmallDisk(4);
  try {
    expect(checkDiskSpace(disk.dir)).toBe(true);
    disk.fill();
    expect(checkDiskSpace(disk.dir)).toEqual({ degraded: `the disk of ${disk.dir} is full: writes are refused` });
    disk.free();
    expect(checkDiskSpace(disk.dir)).toBe(true);
  } finally {
    disk.unmount();
  }
});

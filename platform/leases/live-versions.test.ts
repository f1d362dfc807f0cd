// The skew rule: one old replica keeps all others from what it would undo.
import { expect, test } from "vitest";
import { SKEW_FEATURES } from "../../crds/replica/skew.ts";
import type { Member } from "../../kube/lease/member.ts";
import { isKnownToAll } from "./live-versions.ts";
import { REPLICA_ANNOTATIONS } from "./replica-membership.ts";

const member = (version?: string): Member => ({
  identity: version ?? "old",
  annotations: version === undefined ? {} : { [REPLICA_ANNOTATIONS.version]: version },
  since: "2026-01-01T00:00:00Z",
  leaseUid: "u",
});
const since = SKEW_FEATURES["finalizer-at-creation"];

test.each<[string, Member[] | undefined, boolean]>([
  ["all of the release", [member(since), member(since)], true],
  ["newer ones", [member("9.0.0"), member(since)], true],
  ["one without a version", [member(since), member()], false],
  ["an older one", [member(since), member("0.0.9")], false],
  ["one with no version's text", [member("latest")], false],
  ["a preview of the release", [member(`${since}-rc.1`)], false],
  ["none that can be read", undefined, false],
  ["none at all", [], false],
])("%s: %s", (_what, members, expected) => expect(isKnownToAll("finalizer-at-creation", members)).toBe(expected));

// Audit events of builds.
import { expect, test } from "vitest";
import { LABELS } from "../../crds/labels.ts";
import { aBuild, aDroplet, anApp, anOrg, aSpace } from "../../crds/testing/objects.ts";
import type { KubeObject } from "../../kube/api/object.ts";
import type { Reader } from "../../kube/cache/reader.ts";
import { listBuildEvents } from "./app-events.ts";

const space = { [LABELS.ownerUid]: "uid-dev", [LABELS.space]: "S", [LABELS.org]: "O" };
const namespaces = [
  { kind: "Namespace", metadata: { name: "acme-dev", labels: space } },
  { kind: "Namespace", metadata: { name: "acme", labels: { [LABELS.ownerUid]: "uid-acme" } } },
];

function readerOf(...objects: KubeObject[]): Reader {
  const all = [...namespaces, anOrg(), aSpace(), anApp(), ...objects] as KubeObject[];
  const find = (kind: string, isIt: (metadata: KubeObject["metadata"]) => boolean) =>
    all.find((one) => one.kind === kind && isIt(one.metadata));
  return {
    find: ({ kind }: { kind: string }, { name }: { name: string }) => find(kind, (metadata) => metadata.name === name),
    byUid: ({ kind }: { kind: string }, uid: string) => find(kind, (metadata) => metadata.uid === uid),
  } as unknown as Reader;
}
const dataOf = (reader: Reader, status: object): unknown =>
  JSON.parse(listBuildEvents(reader, aBuild(), aBuild({}, { status }), new Date(0))[0]?.data ?? "{}");

test("a buildpack's URL is shown without its password", () => {
  const url = "https://ann:s3cret@git.example/pack";
  const reader = readerOf(aDroplet({ buildpacks: [{ name: url, buildpackName: url }, { name: "ruby" }] }));
  const shown = "https://***:***@git.example/pack";
  expect(dataOf(reader, { state: "Staged", droplet: "d1" })).toMatchObject({
    buildpacks: [
      { name: shown, buildpack_name: shown },
      { name: "ruby", buildpack_name: null },
    ],
  });
});

test("so is one in the message of a failed build", () => {
  const error = { code: "StagingError", message: "git clone https://ann:s3cret@git.example/pack failed" };
  expect(dataOf(readerOf(), { state: "Failed", error })).toMatchObject({
    error_message: "git clone https://***:***@git.example/pack failed",
  });
});

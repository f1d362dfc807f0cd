// The nameReference configuration knows every reference of the kinds that people write.
import { expect, test } from "vitest";
import { toCustomResourceDefinition } from "../kube/api/crd.ts";
import { App } from "./app/app.ts";
import { Build } from "./build/build.ts";
import { Domain } from "./domain/domain.ts";
import { Droplet } from "./droplet/droplet.ts";
import { NAME_REFERENCES } from "./kustomize.ts";
import { Org } from "./org/org.ts";
import { Package } from "./package/package.ts";
import { Process } from "./process/process.ts";
import { Route } from "./route/route.ts";
import { Space } from "./space/space.ts";

interface Schema {
  properties?: Record<string, Schema>;
  items?: Schema;
}

/** Paths of the properties that name one object: `…Ref/name`. */
function listReferences({ properties = {}, items }: Schema, path: string): string[] {
  const inner = Object.entries(properties).flatMap(([name, schema]) =>
    /Ref$/.test(name) && schema.properties?.["name"]
      ? [`${path}/${name}/name`]
      : listReferences(schema, `${path}/${name}`),
  );
  return [...inner, ...(items ? listReferences(items, path) : [])];
}

test.each([App, Build, Domain, Droplet, Org, Package, Process, Route, Space])("of kind $kind", (definition) => {
  const crd = toCustomResourceDefinition(definition) as unknown as {
    spec: { versions: { schema: { openAPIV3Schema: { properties: { spec: Schema } } } }[] };
  };
  const found = listReferences(crd.spec.versions[0]?.schema.openAPIV3Schema.properties.spec ?? {}, "spec");
  const known = Object.values(NAME_REFERENCES)
    .flat()
    .filter(({ kind }) => kind === definition.kind)
    .map(({ path }) => path);
  expect(found.filter((path) => !known.includes(path))).toEqual([]);
});

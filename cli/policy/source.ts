// The objects of the files to test: documents of our kinds as they are, and those that a push of a manifest would write. Pure but for reading.
import { omitUndefined } from "../../kube/api/omit-undefined.ts";
import { parseRoute } from "../../api/manifest/route-address.ts";
import { findDefinition } from "../../crds/definitions.ts";
import { findSubject } from "../../crds/policy-template/subjects.ts";
import { Failure } from "../failure.ts";
import { readManifest, type Application } from "../push/manifest.ts";
import type { Domains } from "../push/render.ts";
import { expandFolder, parseDocuments, readText, type SourceDocument } from "./documents.ts";
import { placeObject, type PlacedObject, type Places } from "./places.ts";
import { pushObjects } from "./push-objects.ts";
import { readObject } from "./read-object.ts";

export interface VariableOptions {
  var?: string[];
  varsFile?: string[];
}

export interface Source {
  documents: SourceDocument[];
  applications: { file: string; app: Application }[];
}

/** @throws Failure (usage) */
export function readSource(files: readonly string[], options: VariableOptions): Source {
  const source: Source = { documents: [], applications: [] };
  for (const file of files.flatMap(expandFolder)) {
    const documents = parseDocuments(readText(file), file === "-" ? "stdin" : file);
    if (!documents.some(({ value }) => "applications" in value)) source.documents.push(...documents);
    else source.applications.push(...readApplications(file, options).map((app) => ({ file, app })));
  }
  return source;
}

function readApplications(file: string, { var: given, varsFile }: VariableOptions): Application[] {
  if (file === "-") throw new Failure("a manifest is read from its file", { kind: "usage", next: "-f manifest.yml" });
  return readManifest(undefined, { manifest: file, ...omitUndefined({ var: given, varsFile }) }).applications;
}

/** Namespaces that the documents name. */
export function namespacesOf({ documents }: Source): Set<string> {
  const named = documents
    .filter(isJudged)
    .map(({ value }) => (value["metadata"] as { namespace?: unknown } | undefined)?.namespace);
  return new Set(named.filter((name) => typeof name === "string"));
}

/** The documents with those of the manifests. */
export function toDocuments({ documents, applications }: Source, domains: Domains): SourceDocument[] {
  const rendered = applications.flatMap(({ file, app }) =>
    pushObjects(app, withGuesses(app, domains)).map((object) => ({
      where: `${file}, application ${app.name}`,
      value: object as unknown as Record<string, unknown>,
    })),
  );
  return [...documents.filter(isJudged), ...rendered];
}

/** Without the platform, the domain of a route is the part behind the first dot. */
function withGuesses({ routes }: Application, { domains, defaultDomain }: Domains): Domains {
  const addresses = Array.isArray(routes)
    ? routes.map((one) => String((one as { route?: unknown } | null)?.route))
    : [];
  const hosts = addresses.flatMap((address) => parseRoute(address)?.hostname.toLowerCase() ?? []);
  const unknown = hosts.filter((host) => !domains.some((name) => host === name || host.endsWith(`.${name}`)));
  return { domains: [...domains, ...unknown.map((host) => host.slice(host.indexOf(".") + 1))], defaultDomain };
}

/** Apps whose route is on the default domain, which is not known. */
export function appsWithoutDomain({ applications }: Source, { defaultDomain }: Domains): string[] {
  if (defaultDomain !== undefined) return [];
  return applications.flatMap(({ app }) => (app["no-route"] === true || app["routes"] ? [] : [app.name]));
}

/** Kinds of others, and ours that no policy judges, pass by. */
function isJudged({ value: { apiVersion, kind } }: SourceDocument): boolean {
  const definition = typeof kind === "string" ? findDefinition(kind) : undefined;
  if (!definition || !findSubject(definition.kind)) return false;
  return typeof apiVersion === "string" && apiVersion.startsWith(`${definition.group}/`);
}

/** Objects as the API server would store them, in their places; or the faults of all. */
export function toObjects(
  documents: readonly SourceDocument[],
  places: Places,
): { objects: PlacedObject[]; faults: string[] } {
  const objects: PlacedObject[] = [];
  const faults: string[] = [];
  for (const document of documents) {
    const definition = findDefinition(String(document.value["kind"]));
    if (!definition) continue;
    const read = readObject(document, definition);
    if ("faults" in read) faults.push(...read.faults);
    else objects.push(placeObject(read.object, definition, places));
  }
  return { objects, faults };
}

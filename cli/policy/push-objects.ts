// The objects that a push of a manifest's application writes: those of `cup render`, and those that only a push can complete. Pure.
import { apiVersionOf, type ResourceRef } from "../../kube/api/resource-ref.ts";
import type { SpecInput } from "../../kube/api/resource.ts";
import { App } from "../../crds/app/app.ts";
import { generatedName, objectNameFor } from "../../crds/object-names.ts";
import { Package } from "../../crds/package/package.ts";
import { ServiceBinding } from "../../crds/service-binding/service-binding.ts";
import type { Application } from "../push/manifest.ts";
import { renderApp, type Domains, type Rendered } from "../push/render.ts";

/** @throws Failure (usage) */
export function pushObjects(app: Application, domains: Domains): Rendered[] {
  const rendered = renderApp(app, domains);
  const name = rendered.find(({ kind }) => kind === App.kind)?.metadata.name ?? "";
  const isImage = rendered.some(({ kind }) => kind === Package.kind);
  return [...rendered, ...(isImage ? [] : [sourceOf(name)]), ...bindingsOf(app, name)];
}

/** The source that the push uploads. */
function sourceOf(app: string): Rendered {
  const spec: SpecInput<typeof Package> = { appRef: { name: app }, type: "bits" };
  return toObject(Package, generatedName(app, "bits"), spec);
}

/** Instances are named in CF's way; the object name follows, unless it was taken. */
function bindingsOf({ services }: Application, app: string): Rendered[] {
  const entries = Array.isArray(services) ? (services as unknown[]) : [];
  return entries.flatMap((entry) => {
    const given = (typeof entry === "object" && entry !== null ? entry : { name: entry }) as Record<string, unknown>;
    if (typeof given["name"] !== "string") return [];
    const instance = objectNameFor(given["name"], "service");
    const name = given["binding_name"] ?? given["binding-name"];
    const spec: SpecInput<typeof ServiceBinding> = {
      ...(typeof name === "string" && { name }),
      appRef: { name: app },
      instanceRef: { name: instance },
    };
    return [toObject(ServiceBinding, generatedName(`${app}-${instance}`, instance), spec)];
  });
}

function toObject(ref: ResourceRef, name: string, spec: object): Rendered {
  return { apiVersion: apiVersionOf(ref), kind: ref.kind, metadata: { name }, spec };
}

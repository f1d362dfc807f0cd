// Features of an app: CF's names, which ones this platform supports, and the patch that switches one.
import type { App } from "../../../crds/app/app.ts";
import { notFound, unprocessable } from "../../http/errors.ts";

/** In CF's order. `has`: supported and stored in the App; the others are always off. */
const FEATURES = [
  { name: "ssh", description: "Enable SSHing into the app.", has: true },
  { name: "revisions", description: "Enable versioning of an application", has: true },
  { name: "service-binding-k8s", description: "Enable k8s service bindings for the app", has: false },
  { name: "file-based-vcap-services", description: "Enable file-based VCAP service bindings for the app", has: false },
] as const;

/** Is this the name of a feature in CF? */
export function isFeatureName(name: string): boolean {
  return FEATURES.some((feature) => feature.name === name);
}

interface PresentedFeature {
  name: string;
  description: string;
  enabled: boolean;
}

/** All features of an app. */
export function presentFeatures(app: App): PresentedFeature[] {
  return FEATURES.map(({ name, description, has }) => ({
    name,
    description,
    enabled: has && (app.spec.features?.[name] ?? true),
  }));
}

/** All features of an app, as a manifest shows them. */
export function featureSwitches(app: App): Record<string, boolean> {
  return Object.fromEntries(presentFeatures(app).map(({ name, enabled }) => [name, enabled]));
}

/** @throws CFError 404 */
export function presentFeature(app: App, name: string): PresentedFeature {
  const found = presentFeatures(app).find((feature) => feature.name === name);
  if (!found) throw notFound("Feature");
  return found;
}

/** `spec.features` of a merge patch; undefined when there is nothing to write. @throws CFError 404, 422 when enabling an unsupported feature */
export function toFeaturesPatch(wanted: Readonly<Record<string, boolean>>): Record<string, boolean> | undefined {
  const patch: Record<string, boolean> = {};
  for (const [name, enabled] of Object.entries(wanted)) {
    const feature = FEATURES.find((one) => one.name === name);
    if (!feature) throw notFound("Feature");
    if (feature.has) patch[name] = enabled;
    else if (enabled) throw unprocessable(`The feature ${name} is not available here: services cannot be bound yet.`);
  }
  return Object.keys(patch).length > 0 ? patch : undefined;
}

// Features of an app: CF's names, which ones this platform supports, and the patch that switches one.
import type { App } from "../../../crds/app/app.ts";
import { notFound, unprocessable } from "../../http/errors.ts";

/** In CF's order. `field`: its member of `spec.features`. */
const FEATURES = [
  { name: "ssh", field: "ssh", description: "Enable SSHing into the app.", isOn: true },
  { name: "revisions", field: "revisions", description: "Enable versioning of an application", isOn: true },
  {
    name: "service-binding-k8s",
    field: "serviceBindingK8s",
    description: "Enable k8s service bindings for the app",
    isOn: false,
  },
  {
    name: "file-based-vcap-services",
    field: "fileBasedVcapServices",
    description: "Enable file-based VCAP service bindings for the app",
    isOn: false,
  },
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
  return FEATURES.map(({ name, field, description, isOn }) => ({
    name,
    description,
    enabled: app.spec.features?.[field] ?? isOn,
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

/** `spec.features` of a merge patch; undefined when there is nothing to write. @throws CFError 404; 422 when both features of files would be on */
export function toFeaturesPatch(
  { spec }: App,
  wanted: Readonly<Record<string, boolean>>,
): Record<string, boolean> | undefined {
  const patch: Record<string, boolean> = {};
  for (const [name, enabled] of Object.entries(wanted)) {
    const feature = FEATURES.find((one) => one.name === name);
    if (!feature) throw notFound("Feature");
    patch[feature.field] = enabled;
  }
  const after: Record<string, boolean | undefined> = { ...spec.features, ...patch };
  if (after["serviceBindingK8s"] && after["fileBasedVcapServices"])
    throw unprocessable(
      "'file-based-vcap-services' and 'service-binding-k8s' features cannot be enabled at the same time.",
    );
  return Object.keys(patch).length > 0 ? patch : undefined;
}

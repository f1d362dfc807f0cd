// The Secret that holds the values of an app's variables: its name and the check that it belongs to the app. Pure.
import type { KubeObject } from "../../kube/api/object.ts";
import { LABELS } from "../labels.ts";

/** Name of the Secret where the API stores the values of `cf set-env`. `app` is the object name. */
export function appSecretName(app: string): string {
  return `${app}-env`;
}

/** Does this Secret belong to the app? The name alone proves nothing, since anybody can create an app of that name; the GUID label must match too. */
export function isAppSecret(secret: KubeObject, app: string, guid: string): boolean {
  return secret.metadata.name === appSecretName(app) && secret.metadata.labels?.[LABELS.app] === guid;
}

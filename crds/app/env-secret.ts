// The Secret with the values of an app's variables: its name, and how it is told to be the app's own. Pure.
import type { KubeObject } from "../../kube/api/object.ts";
import { LABELS } from "../labels.ts";

/** The Secret where the API keeps what was set by `cf set-env`. `app` is the object's name. */
export function appSecretName(app: string): string {
  return `${app}-env`;
}

/** Is this Secret the app's own, told by name and GUID label? One of that name alone may be anybody's, and an app of any name can be made. */
export function isAppSecret(secret: KubeObject, app: string, guid: string): boolean {
  return secret.metadata.name === appSecretName(app) && secret.metadata.labels?.[LABELS.app] === guid;
}

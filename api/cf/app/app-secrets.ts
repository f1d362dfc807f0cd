// The permission to read what may hold an app's secrets: the start commands of its processes, droplets and tasks.
import { App } from "../../../crds/app/app.ts";

export const APP_SECRETS = { verb: "get", on: App, subresource: "secrets" } as const;

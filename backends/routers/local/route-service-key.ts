// The key of the signatures for route services: one per installation.
import { InstallationKey } from "../../../crds/installation-key.ts";

export const ROUTE_SERVICE_KEY = new InstallationKey("cupola-route-service-key");

// The key that signs job GUIDs: one per installation.
import { InstallationKey } from "../../crds/installation-key.ts";

export const JOB_KEY = new InstallationKey("cupola-job-key");

// The reason why a staging failed: CF's code, and a message for the person who pushed.
import { MAX_ERROR_MESSAGE } from "../../crds/staging/staging-limits.ts";

/** CF's error codes of staging, with CF's sentence for each. */
export const stagingCodes = {
  NoAppDetectedError: "An app was not successfully detected by any available buildpack",
  NoBuildpacksFound: "There are no buildpacks available",
  BuildpackCompileFailed: "App staging failed in the buildpack compile phase",
  BuildpackReleaseFailed: "App staging failed in the buildpack release phase",
  StagingTimeExpired: "Staging time expired",
  InsufficientResources: "Insufficient resources",
  StagingError: "Staging error",
} as const;

export type StagingCode = keyof typeof stagingCodes;

/** The app, its buildpacks or its limits made the staging fail; the platform did not. */
export class StagingFailure extends Error {
  readonly code: StagingCode;
  constructor(code: StagingCode, message: string, options: { cause?: unknown } = {}) {
    super(message, options);
    this.name = "StagingFailure";
    this.code = code;
  }
}

/** The status field: CF's sentence, then the reason. Cut to the length that it may have. */
export function presentFailure(failure: { code: StagingCode; message: string }): {
  code: StagingCode;
  message: string;
} {
  const message = `${stagingCodes[failure.code]}: ${failure.message}`;
  return {
    code: failure.code,
    message: message.length > MAX_ERROR_MESSAGE ? `${message.slice(0, MAX_ERROR_MESSAGE - 3)}...` : message,
  };
}

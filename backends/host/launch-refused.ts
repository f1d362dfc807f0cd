// The error of a start that no retry can mend: somebody has to change the app first.

/** Its message is shown to the app's owner, so it says what to do. */
export class LaunchRefused extends Error {
  constructor(message: string) {
    super(message);
    this.name = "LaunchRefused";
  }
}

// The error of a start that no retry can make succeed: the app must change first.

/** The message is for the app's owner and names the next step. */
export class LaunchRefused extends Error {
  constructor(message: string) {
    super(message);
    this.name = "LaunchRefused";
  }
}

// Output of buildpacks: a heading with what was seen and decided, indented lines, warnings.

/** The line that says what the buildpack saw and decided. */
export function heading(text) {
  console.log(`-----> ${text}`);
}

export function say(text) {
  console.log(`       ${text}`);
}

export function warn(text) {
  say(`warning: ${text}`);
}

/** Runs a buildpack's build. An error becomes its message, without a stack, and exit status 1. */
export async function main(build) {
  try {
    await build();
  } catch (error) {
    console.error(error instanceof Problem ? error.message : error);
    process.exit(1);
  }
}

/** A problem of the app or the machine. The message ends in the next step. */
export class Problem extends Error {}

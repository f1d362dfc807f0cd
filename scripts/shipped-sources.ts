// Which files of the source folders are shipped, in the image and in the npm package: all but tests and what only tests use.

const TESTS = /\.(test|golden|case)\.|(^|\/)testing(\/|$)/;

/** @param path below a source folder, with `/` */
export function isOnlyForTests(path: string): boolean {
  return TESTS.test(path);
}

// An app of the sources journey: files, what its machine needs, what it answers, and how it changes.

/** An app in a shape that people have. It answers `expects`, and after the change `changesTo`. */
export interface SourceApp {
  name: string;
  /** Contents by path; `ONE` in them becomes the text that the change replaces. */
  files: Readonly<Record<string, string>>;
  /** Programs that the machine must have. */
  needs?: readonly string[];
  /** Why the journey does not install these where they are missing. */
  whyMissing?: string;
  /** Runs in the app's folder before the first push, as its developer would: a lockfile, a jar. */
  prepare?: readonly (readonly [string, ...string[]])[];
  /** Whether a change needs it again: what it makes holds the text. */
  prepareAgain?: boolean;
  /** Path that answers; `/` unless said. */
  at?: string;
  /** Pushed path, relative to the app's folder: a subfolder or an archive. */
  path?: string;
  /** Further lines of the app in its manifest. */
  manifest?: Readonly<Record<string, unknown>>;
  /** Text of the build's log. */
  says: RegExp;
  /** Whether `npm test` pushes it, too. */
  inCI?: boolean;
  /** Whether it is also pushed to a node, whose pods reach no registry of packages. */
  inPods?: boolean;
}

/** The files with the text of now. */
export function filesOf({ files }: SourceApp, text: string): [path: string, content: string][] {
  return Object.entries(files).map(([path, content]) => [path, content.replaceAll("ONE", text)]);
}

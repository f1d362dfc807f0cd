// The files of a support bundle.

/** A file of the bundle. */
export interface BundleFile {
  path: string;
  text: string;
}

/** A file that is still to be read. */
export interface Source {
  path: string;
  read: () => Promise<string>;
}

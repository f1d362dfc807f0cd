// The error of a value that does not fit its declared type.

/** A value that does not fit its field. */
export class TypeFault extends Error {
  readonly path: string;
  constructor(path: string, message: string) {
    super(message);
    this.name = "TypeFault";
    this.path = path;
  }
}

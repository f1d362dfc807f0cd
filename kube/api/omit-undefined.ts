// Removes undefined fields, for exactOptionalPropertyTypes and JSON bodies.

/** `T` with fields that may be undefined made optional. */
export type OmitUndefined<T> = { [K in keyof T as undefined extends T[K] ? never : K]: T[K] } & {
  [K in keyof T as undefined extends T[K] ? K : never]?: Exclude<T[K], undefined>;
};

/** A shallow copy without undefined fields. */
export function omitUndefined<T extends object>(fields: T): OmitUndefined<T> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as OmitUndefined<T>;
}

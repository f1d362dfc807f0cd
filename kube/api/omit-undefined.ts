// Objects without the fields that are undefined: what is left out of a JSON body must be left out of the object.

/** The fields of `T`, those that may be undefined as optional ones. */
export type OmitUndefined<T> = { [K in keyof T as undefined extends T[K] ? never : K]: T[K] } & {
  [K in keyof T as undefined extends T[K] ? K : never]?: Exclude<T[K], undefined>;
};

/** A shallow copy without undefined fields. */
export function omitUndefined<T extends object>(fields: T): OmitUndefined<T> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as OmitUndefined<T>;
}

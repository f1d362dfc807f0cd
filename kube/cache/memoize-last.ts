// The answer of a pure function to the input of before, for inputs that stay the very same object while nothing changes.

/** Calls `of` again only for another object than the last time. */
export function memoizeLast<In extends object, Out>(compute: (input: In) => Out): (input: In) => Out {
  let last: { input: In; output: Out } | undefined;
  return (input) => {
    if (last?.input !== input) last = { input, output: compute(input) };
    return last.output;
  };
}

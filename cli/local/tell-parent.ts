// Messages of a `cup local start` in the background to the `cup local start --detach` that started it.

/** Does nothing without a parent, or when it has gone meanwhile. */
export function tellParent(message: string): void {
  // Without a callback, a closed channel is an uncaught error of this process.
  process.send?.(message, () => undefined);
}

// Addresses may carry a name and a password; what is shown, logged or said in an error does not. Pure.

/** The text with `***:***` for whatever stands between scheme and host of an address in it, as CF shows it. */
export function hideUserinfo(text: string): string {
  return text.replace(/([a-z][a-z0-9+.-]*:\/\/)[^\s/?#]*@/gi, "$1***:***@");
}

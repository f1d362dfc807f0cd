// Removes user names and passwords from URLs before they are shown or logged. Pure.

/** Replaces the userinfo of every URL in the text by `***:***`, as CF does. */
export function hideUserinfo(text: string): string {
  return text.replace(/([a-z][a-z0-9+.-]*:\/\/)[^\s/?#]*@/gi, "$1***:***@");
}

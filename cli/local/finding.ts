// A finding of `cup doctor`.

/** `problem`: Cupola cannot start. `note`: some apps or builds may not work. */
export interface Finding {
  about: string;
  verdict: "fine" | "note" | "problem";
  text: string;
}

// A group of cases as CUPOLA_RECORD_CASES records it: requests and answers as they were, but for tokens.
import type { Who } from "../cf/support/who.ts";

export interface RawExchange {
  method: string;
  /** With the query. */
  path: string;
  contentType?: string;
  /** In base64. */
  requestBody: string;
  status: number;
  headers: Readonly<Record<string, string>>;
  /** In base64. */
  body: string;
  /** The sender; undefined without a token. */
  as?: Who;
  /** Sent by the command that the case is about, and not by what is before and after it. */
  isOfCommand: boolean;
}

export interface CaseRecording {
  /** As typed. Empty for what all cases of the group share. */
  command: string;
  name: string;
  /** Prefix of the case's own names: `push-3`. */
  ownName: string;
  exchanges: RawExchange[];
}

export interface GroupRecording {
  /** The API's address for clients. */
  url: string;
  /** Where the cases' folders were. */
  folder: string;
  cases: CaseRecording[];
}

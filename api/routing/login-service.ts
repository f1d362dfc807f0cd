// The part of the API that the endpoints of login use.
import type { Caller } from "../identity/caller.ts";
import type { LoginTokens } from "../identity/login-tokens.ts";

/** How clients that do not read a kubeconfig log in. */
export interface LoginSettings {
  /** Host names, without a port, under which the root document offers token login. */
  tokenLoginHosts: readonly string[];
  /** Login server of an issuer that replaces this API's own; its UAA. Default: this API. */
  loginURL?: string | undefined;
  uaaURL?: string | undefined;
}

export interface LoginService {
  settings: LoginSettings;
  tokens: LoginTokens;
  /** The caller that a Kubernetes token is of; undefined when Kubernetes refuses it. @throws CFError 503 */
  review(token: string): Promise<Caller | undefined>;
  /** Whether a caller may administer the platform. */
  isAdmin(caller: Caller): Promise<boolean>;
}

// A repository of a registry and the scopes that tokens for it name.

/** `host` with its port, as in image names. */
export interface Place {
  host: string;
  repository: string;
}

export function pullScope({ repository }: Place): string {
  return `repository:${repository}:pull`;
}

export function pushScope({ repository }: Place): string {
  return `repository:${repository}:pull,push`;
}

export function deleteScope({ repository }: Place): string {
  return `repository:${repository}:delete`;
}

// The words that tell Cloud Foundry and Cupola from Kubernetes. kube/ and local/apiserver/ could serve another project, and use none.

// Plain English words that CF also uses (space, app, route, process, stack, task, package, domain) say nothing and are not here.
const anywhere = "droplet|buildpack|cupola|cloud[ -]?foundry|korifi|eirini|gorouter|loggregator|diego|vcap";
const alone = "cf|guid|lrp|uaa|capi|cup|rep|bbs";
const pattern = new RegExp(`(?:${anywhere})|\\b(?:cf_[a-z]+|${alone})\\b`, "gi");

/** The words of CF in a text, as they stand there. */
export function foreignWords(text: string): string[] {
  return [...text.matchAll(pattern)].map((match) => match[0]);
}

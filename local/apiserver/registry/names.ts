// Rules of names with kube-apiserver's messages. Each check returns its messages.
const SUBDOMAIN = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
const LABEL = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/;
const LABEL_1035 = /^[a-z]([-a-z0-9]*[a-z0-9])?$/;
const QUALIFIED = /^([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$/;
const LABEL_VALUE = /^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$/;

const SUBDOMAIN_TEXT =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const LABEL_TEXT =
  "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
const LABEL_1035_TEXT =
  "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')";
const NAME_PART_TEXT =
  "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const LABEL_VALUE_TEXT =
  "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";

function check(value: string, most: number, rule: RegExp, text: string): string[] {
  const faults: string[] = [];
  if (value.length > most)
    faults.push(`must be no more than ${most} ${most === 253 || most === 63 ? "characters" : "bytes"}`);
  if (!rule.test(value)) faults.push(text);
  return faults;
}

/** A prefix may end in `-`: the generated part follows. */
const asName = (name: string, isPrefix: boolean) => (isPrefix ? name.replace(/-$/, "a") : name);

export const subdomainName = (name: string, isPrefix: boolean) =>
  check(asName(name, isPrefix), 253, SUBDOMAIN, SUBDOMAIN_TEXT);
export const labelName = (name: string, isPrefix: boolean) => check(asName(name, isPrefix), 63, LABEL, LABEL_TEXT);
export const label1035Name = (name: string, isPrefix: boolean) =>
  check(asName(name, isPrefix), 63, LABEL_1035, LABEL_1035_TEXT);

/** RBAC kinds: anything that fits into one path segment. */
export function pathSegmentName(name: string, isPrefix: boolean): string[] {
  if (!isPrefix && (name === "." || name === "..")) return [`may not be '${name}'`];
  return ["/", "%"]
    .filter((character) => name.includes(character))
    .map((character) => `may not contain '${character}'`);
}

/** Keys of labels and annotations, names of finalizers: an optional DNS prefix and a name part. */
export function qualifiedName(key: string): string[] {
  const parts = key.split("/");
  if (parts.length > 2)
    return [
      `a qualified name ${NAME_PART_TEXT.slice("name part ".length)} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`,
    ];
  const name = parts.at(-1) ?? "";
  const faults: string[] = [];
  if (parts.length === 2) {
    if (parts[0] === "") faults.push("prefix part must be non-empty");
    else faults.push(...subdomainName(parts[0] ?? "", false).map((fault) => `prefix part ${fault}`));
  }
  if (name === "") faults.push("name part must be non-empty");
  else if (name.length > 63) faults.push("name part must be no more than 63 characters");
  if (!QUALIFIED.test(name)) faults.push(NAME_PART_TEXT);
  return faults;
}

export const labelValue = (value: string) => check(value, 63, LABEL_VALUE, LABEL_VALUE_TEXT);

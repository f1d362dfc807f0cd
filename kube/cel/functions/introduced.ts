// In which Kubernetes minor each function, method and macro appeared, as the base environment of kube-apiserver has it (k8s.io/apiserver/pkg/cel/environment).

/** Rules of CRDs are on by default since then, so no expression is older. */
export const oldestMinor = "1.25";

/** Names as expressions write them: a function's with its namespace, a method's alone. */
const namesByMinor: Record<string, string> = {
  [oldestMinor]: `
    bool bytes double duration dyn int size string timestamp type uint
    charAt contains endsWith find findAll indexOf join lastIndexOf lowerAscii matches replace split startsWith
    substring trim upperAscii
    isSorted max min sum
    getDate getDayOfMonth getDayOfWeek getDayOfYear getFullYear getHours getMilliseconds getMinutes getMonth getSeconds
    isURL url getEscapedPath getHost getHostname getPort getQuery getScheme`,
  // Authorizer of policies.
  "1.27": "allowed check error errored group name namespace path reason resource serviceAccount subresource",
  // Optionals and quantities.
  "1.28": `
    hasValue optFlatMap optMap optional.none optional.of optional.ofNonZeroValue or orValue value
    add asApproximateFloat asInteger compareTo isGreaterThan isInteger isLessThan isQuantity quantity sign sub`,
  // Sets; the second version of the strings extension.
  "1.29": "sets.contains sets.equivalent sets.intersects format strings.quote",
  // Addresses.
  "1.30": `
    cidr containsCIDR containsIP family ip isCIDR isGlobalUnicast isIP isLinkLocalMulticast isLinkLocalUnicast
    isLoopback isUnspecified prefixLength`,
  // Named formats, selectors of the authorizer.
  "1.31": `
    format.byte format.date format.datetime format.dns1035Label format.dns1035LabelPrefix format.dns1123Label
    format.dns1123LabelPrefix format.dns1123Subdomain format.dns1123SubdomainPrefix format.labelValue format.named
    format.qualifiedName format.uri format.uuid validate
    fieldSelector labelSelector`,
  // Macros with two variables. `all`, `exists` and `exists_one` are older with one.
  "1.32": "transformList transformMap transformMapEntry",
  // Came with cel-go 0.23, for stored and new expressions at once.
  "1.33": "first last optional.unwrap unwrapOpt",
};

/** Minor by name, e.g. `sets.contains` to `1.29`. */
export const introducedIn: ReadonlyMap<string, string> = new Map(
  Object.entries(namesByMinor).flatMap(([minor, names]) =>
    names
      .trim()
      .split(/\s+/)
      .map((name) => [name, minor] as const),
  ),
);

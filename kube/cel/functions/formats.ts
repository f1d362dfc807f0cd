// Kubernetes' named formats in expressions: `format.dns1123Label().validate(x)` gives nothing, or a list of faults.
import { CelError, none, some, type CelOpaque, type CelValue } from "../values.ts";
import { text, type Library } from "./library.ts";
import { parseUrl } from "./urls.ts";

interface Format {
  most?: number;
  pattern?: RegExp;
  fault: string;
  test?: (value: string) => boolean;
}

const label = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/;
const subdomain = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
const labelFault =
  "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
const subdomainFault =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const labelValueFault =
  "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";

/** The formats by name; also the schema validator's source for what a name must look like. */
export const namedFormats: Record<string, Format> = {
  dns1123Label: { most: 63, pattern: label, fault: labelFault },
  dns1123Subdomain: { most: 253, pattern: subdomain, fault: subdomainFault },
  dns1035Label: {
    most: 63,
    pattern: /^[a-z]([-a-z0-9]*[a-z0-9])?$/,
    fault:
      "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')",
  },
  dns1123LabelPrefix: { most: 63, pattern: /^[a-z0-9][-a-z0-9]*$/, fault: labelFault },
  dns1123SubdomainPrefix: { most: 253, pattern: /^[a-z0-9]([-a-z0-9.]*)$/, fault: subdomainFault },
  dns1035LabelPrefix: { most: 63, pattern: /^[a-z][-a-z0-9]*$/, fault: labelFault },
  labelValue: { most: 63, pattern: /^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$/, fault: labelValueFault },
  qualifiedName: {
    pattern: /^([a-z0-9.-]{1,253}\/)?([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)$/,
    fault:
      "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character",
  },
  uri: { fault: "invalid URI", test: (value) => parseUrl(value) !== undefined },
  uuid: {
    pattern: /^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$/i,
    fault: "does not match the UUID format",
  },
  byte: { pattern: /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/, fault: "invalid base64" },
  date: { fault: "invalid date", test: (value) => /^\d{4}-\d\d-\d\d$/.test(value) && !Number.isNaN(Date.parse(value)) },
  datetime: {
    fault: "invalid datetime",
    test: (value) => /^\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d/i.test(value) && !Number.isNaN(Date.parse(value)),
  },
};

/** The problems of a value; empty when it is valid. */
export function formatFaults(format: Format, value: string): string[] {
  const faults: string[] = [];
  if (format.most !== undefined && value.length > format.most)
    faults.push(`must be no more than ${format.most} characters`);
  if ((format.pattern && !format.pattern.test(value)) || (format.test && !format.test(value)))
    faults.push(format.fault);
  return faults;
}

function formatValue(format: Format): CelOpaque {
  return {
    celKind: "opaque",
    type: "kubernetes.NamedFormat",
    call: (method, [value]): CelValue => {
      if (method !== "validate") throw new CelError(`no such overload: kubernetes.NamedFormat.${method}`);
      const faults = formatFaults(format, text(value));
      return faults.length === 0 ? none : some(faults);
    },
  };
}

const getters = Object.entries(namedFormats).map(
  ([name, format]) => [`format.${name}`, () => formatValue(format)] as const,
);

export const formats: Library = {
  functions: {
    ...Object.fromEntries(getters),
    "format.named": (name) => {
      const format = namedFormats[text(name)];
      return format ? some(formatValue(format)) : none;
    },
  },
  methods: {},
};

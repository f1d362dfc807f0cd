// Quantities in Kubernetes' canonical form: the largest unit that leaves a whole number. Very long ones and exponents of more than three digits are refused, since their value would fill the memory.

const BINARY = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];
const DECIMAL = ["n", "u", "m", "", "k", "M", "G", "T", "P", "E"];
const QUANTITY = /^([+-]?)(\d*)(?:\.(\d*))?(Ki|Mi|Gi|Ti|Pi|Ei|[numkMGTPE]|[eE][+-]?\d{1,3})?$/;
const NANO = 9;
const LONGEST = 1_000;

/** The canonical form; undefined when the text is no quantity. */
export function canonicalQuantity(text: string): string | undefined {
  if (text.length > LONGEST) return undefined;
  const [, sign, whole, fraction = "", suffix = ""] = QUANTITY.exec(text) ?? [];
  const digits = `${whole ?? ""}${fraction}`;
  // A unit alone is no quantity.
  if (digits === "") return suffix === "" ? undefined : "0";
  const shown = canonicalDigits(BigInt(digits), fraction.length, suffix);
  return sign === "-" && shown !== "0" ? `-${shown}` : shown;
}

function canonicalDigits(digits: bigint, decimals: number, suffix: string): string {
  if (suffix.endsWith("i")) return binary(digits * 1024n ** BigInt(BINARY.indexOf(suffix)), decimals);
  const isScientific = /^[eE][+-]?\d+$/.test(suffix);
  const exponent = isScientific ? Number(suffix.slice(1)) : (DECIMAL.indexOf(suffix) - 3) * 3;
  const nanos = inNanos(digits, exponent - decimals);
  return isScientific ? scientific(nanos) : decimal(nanos);
}

/** Beyond nano it is rounded up. */
function inNanos(digits: bigint, exponent: number): bigint {
  const shift = exponent + NANO;
  if (shift >= 0) return digits * 10n ** BigInt(shift);
  const divisor = 10n ** BigInt(-shift);
  return (digits + divisor - 1n) / divisor;
}

function binary(scaled: bigint, decimals: number): string {
  const divisor = 10n ** BigInt(decimals);
  // Less than 1024, or not whole: the decimal form takes over.
  if (scaled % divisor !== 0n || scaled / divisor < 1024n) return decimal(inNanos(scaled, -decimals));
  let value = scaled / divisor;
  let unit = 0;
  while (value % 1024n === 0n && unit < BINARY.length - 1) {
    value /= 1024n;
    unit += 1;
  }
  return `${value}${BINARY[unit]}`;
}

function largest(nanos: bigint, lastUnit = Infinity): { value: bigint; unit: number } {
  let value = nanos;
  let unit = 0;
  while (value !== 0n && value % 1000n === 0n && unit < lastUnit) {
    value /= 1000n;
    unit += 1;
  }
  return { value, unit };
}

function decimal(nanos: bigint): string {
  if (nanos === 0n) return "0";
  const { value, unit } = largest(nanos, DECIMAL.length - 1);
  return `${value}${DECIMAL[unit]}`;
}

function scientific(nanos: bigint): string {
  if (nanos === 0n) return "0";
  const { value, unit } = largest(nanos);
  return unit === 3 ? String(value) : `${value}e${(unit - 3) * 3}`;
}

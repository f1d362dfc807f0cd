// A terminal's lines as an SVG that looks alike on light and dark pages. Pure.
import type { Span } from "./terminal-lines.ts";

const CHAR_WIDTH = 8.4;
const LINE_HEIGHT = 19;
const MARGIN = 18;
const BAR = 30;
const BACKGROUND = "#14181f";
const TEXT = "#d8dee6";
const COLOURS: Readonly<Record<string, string>> = {
  red: "#ff6b6b",
  green: "#6bd49b",
  yellow: "#f2c94c",
  blue: "#6cb2ff",
  magenta: "#c792ea",
  cyan: "#5ad1d8",
};

export function toSvg(title: string, lines: readonly (readonly Span[])[], columns: number): string {
  const width = Math.ceil(columns * CHAR_WIDTH + 2 * MARGIN);
  const height = BAR + lines.length * LINE_HEIGHT + MARGIN;
  const rows = lines.map((spans, at) => toRow(spans, BAR + (at + 1) * LINE_HEIGHT - 5));
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="${escapeXml(title)}">
<title>${escapeXml(title)}</title>
<rect width="${width}" height="${height}" rx="8" fill="${BACKGROUND}"/>
<circle cx="18" cy="16" r="5" fill="#ff6b6b"/><circle cx="36" cy="16" r="5" fill="#f2c94c"/><circle cx="54" cy="16" r="5" fill="#6bd49b"/>
<g font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, monospace" font-size="14" fill="${TEXT}" xml:space="preserve">
${rows.filter((row) => row !== "").join("\n")}
</g>
</svg>
`;
}

/** Each span has its place, so that a font of another width keeps columns. */
function toRow(spans: readonly Span[], y: number): string {
  let column = 0;
  const parts = spans.map((span) => {
    const x = (MARGIN + column * CHAR_WIDTH).toFixed(1);
    const length = [...span.text].length;
    column += length;
    const look = [
      span.colour && COLOURS[span.colour] ? ` fill="${COLOURS[span.colour]}"` : "",
      span.isBold ? ' font-weight="bold"' : "",
      span.isDim ? ' opacity="0.6"' : "",
    ].join("");
    return `<tspan x="${x}" textLength="${(length * CHAR_WIDTH).toFixed(1)}"${look}>${escapeXml(span.text)}</tspan>`;
  });
  return parts.length === 0 ? "" : `<text y="${y}">${parts.join("")}</text>`;
}

function escapeXml(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
}

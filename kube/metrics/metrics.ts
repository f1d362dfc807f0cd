// Metrics of one process in Prometheus' form. A label has a closed set of values or a bounded number of names, so their number does not grow with the objects of a cluster.
import type * as Prometheus from "prom-client";
import { SeriesMetric } from "./series.ts";

/** Names that the code gives: controllers, resources, endpoints. Beyond MAX_NAMES of a metric they count as `other`. */
export const NAME = "name";
const MAX_NAMES = 300;
const OTHER = "other";

type LabelSet = Readonly<Record<string, readonly string[] | typeof NAME>>;

/** The name of a metric, its meaning, and its labels. */
export interface MetricDefinition<Labels extends LabelSet = LabelSet> {
  readonly name: string;
  readonly type: "counter" | "gauge" | "histogram";
  readonly help: string;
  readonly labels: Labels;
  /** Upper bounds of a histogram. */
  readonly buckets?: readonly number[];
}

/** The values of a definition's labels. Only a NAME takes any string. */
export type LabelsOf<Definition extends MetricDefinition> = {
  [Label in keyof Definition["labels"]]: Definition["labels"][Label] extends readonly (infer Value)[] ? Value : string;
};

/** Labels and value of one series at a scrape. */
export type Sample<Definition extends MetricDefinition> = readonly [labels: LabelsOf<Definition>, value: number];

export interface Metrics {
  /** Adds to a counter: 1 without `by`. */
  counter<D extends MetricDefinition>(definition: D): (labels: LabelsOf<D>, by?: number) => void;
  /** Observes a value in a histogram. */
  histogram<D extends MetricDefinition>(definition: D): (labels: LabelsOf<D>, value: number) => void;
  /** `read` gives the series at each scrape. Several readers of one gauge add theirs. Returns what removes the reader. */
  gauge<D extends MetricDefinition>(definition: D, read: () => Iterable<Sample<D>>): () => void;
  readonly contentType: string;
  scrape(): Promise<string>;
}

/** Loads prom-client, which takes 80 ms of processor time: only where a process is scraped. */
export async function createMetrics(): Promise<Metrics> {
  const prometheus = await import("prom-client");
  const registry = new prometheus.Registry();
  prometheus.collectDefaultMetrics({ register: registry });
  return new PrometheusMetrics(registry, prometheus);
}

type Constructors = Pick<typeof Prometheus, "Gauge">;
type Reader = () => Iterable<readonly [Record<string, string>, number]>;

class PrometheusMetrics implements Metrics {
  readonly #registry: Prometheus.Registry;
  readonly #constructors: Constructors;
  readonly #series = new Map<string, SeriesMetric>();
  readonly #gauges = new Map<string, Set<Reader>>();

  constructor(registry: Prometheus.Registry, constructors: Constructors) {
    this.#registry = registry;
    this.#constructors = constructors;
  }

  get contentType(): string {
    return this.#registry.contentType;
  }

  scrape(): Promise<string> {
    return this.#registry.metrics();
  }

  counter<D extends MetricDefinition>(definition: D): (labels: LabelsOf<D>, by?: number) => void {
    const counter = this.#seriesOf(definition, "counter");
    return (labels, by = 1) => counter.add(labels as Record<string, string>, by);
  }

  histogram<D extends MetricDefinition>(definition: D): (labels: LabelsOf<D>, value: number) => void {
    const histogram = this.#seriesOf(definition, "histogram");
    return (labels, value) => histogram.observe(labels as Record<string, string>, value);
  }

  gauge<D extends MetricDefinition>(definition: D, read: () => Iterable<Sample<D>>): () => void {
    const readers = getOrMake(this.#gauges, definition.name, () => this.#makeGauge(definition));
    const bound = createNameBound(definition);
    const reader: Reader = () => [...read()].map(([labels, value]) => [bound(labels), value] as const);
    readers.add(reader);
    return () => void readers.delete(reader);
  }

  #seriesOf<D extends MetricDefinition>(definition: D, type: "counter" | "histogram"): SeriesMetric {
    return getOrMake(this.#series, definition.name, () => {
      const { name, help, labels, buckets = [] } = definition;
      const bound = createNameBound(definition) as (given: Readonly<Record<string, string>>) => Record<string, string>;
      const made = new SeriesMetric({ name, help, type, labelNames: Object.keys(labels), buckets, bound });
      this.#registry.registerMetric(made as unknown as Prometheus.Metric);
      return made;
    });
  }

  #makeGauge(definition: MetricDefinition): Set<Reader> {
    const readers = new Set<Reader>();
    new this.#constructors.Gauge({
      ...this.#options(definition),
      collect(this: Prometheus.Gauge) {
        this.reset();
        for (const read of readers) for (const [labels, value] of read()) this.inc(labels, value);
      },
    });
    return readers;
  }

  #options({ name, help, labels }: MetricDefinition) {
    return { name, help, labelNames: Object.keys(labels), registers: [this.#registry] };
  }
}

function getOrMake<T>(known: Map<string, T>, name: string, make: () => T): T {
  const made = known.get(name) ?? make();
  known.set(name, made);
  return made;
}

/** Replaces names beyond the first MAX_NAMES of a label. */
function createNameBound<D extends MetricDefinition>({ labels }: D): (given: LabelsOf<D>) => Record<string, string> {
  const names = Object.keys(labels).filter((label) => labels[label] === NAME);
  const known = new Map(names.map((label) => [label, new Set<string>()]));
  return (given) => {
    const values: Record<string, string> = { ...(given as Record<string, string>) };
    for (const [label, seen] of known) {
      const value = values[label] ?? "";
      if (seen.has(value)) continue;
      if (seen.size < MAX_NAMES) seen.add(value);
      else values[label] = OTHER;
    }
    return values;
  };
}

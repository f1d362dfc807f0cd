// The series of a counter or a histogram. prom-client checks and hashes the labels of each observation, some 0.3 µs each, and an API's request has two; here a look-up by the label values finds the series.
import type { MetricObjectWithValues, MetricValueWithName } from "prom-client";

type Labels = Readonly<Record<string, string>>;

interface Series {
  labels: Labels;
  /** The number of observations, or a counter's value. */
  count: number;
  sum: number;
  /** How many observations are at most each bound, and above the one before. */
  perBucket: number[];
}

export interface SeriesOptions {
  name: string;
  help: string;
  type: "counter" | "histogram";
  labelNames: readonly string[];
  /** Upper bounds, ascending. */
  buckets: readonly number[];
  /** The labels under which an observation counts: the given ones, or `other` in place of a name beyond the bound. */
  bound: (labels: Labels) => Labels;
}

type Sample = MetricValueWithName<string> & { sharedLabels?: Labels };

/** A metric as prom-client's registry takes it. */
export class SeriesMetric {
  readonly name: string;
  readonly #options: SeriesOptions;
  readonly #series = new Map<string, Series>();

  constructor(options: SeriesOptions) {
    this.name = options.name;
    this.#options = options;
    // A metric without labels has its one series from the start.
    if (options.labelNames.length === 0) this.#find({});
  }

  add(labels: Labels, by: number): void {
    this.#find(labels).count += by;
  }

  observe(labels: Labels, value: number): void {
    const series = this.#find(labels);
    series.count++;
    series.sum += value;
    const bucket = this.#options.buckets.findIndex((upper) => value <= upper);
    if (bucket >= 0) series.perBucket[bucket] = (series.perBucket[bucket] ?? 0) + 1;
  }

  get(): Promise<MetricObjectWithValues<MetricValueWithName<string>>> {
    const { name, help, type } = this.#options;
    const present = type === "counter" ? presentCounter : (series: Series) => this.#presentHistogram(series);
    const values = [...this.#series.values()].flatMap(present);
    return Promise.resolve({ name, help, type, values, aggregator: "sum" } as unknown as MetricObjectWithValues<
      MetricValueWithName<string>
    >);
  }

  #find(labels: Labels): Series {
    return this.#series.get(this.#keyOf(labels)) ?? this.#make(this.#options.bound(labels));
  }

  #make(labels: Labels): Series {
    const key = this.#keyOf(labels);
    const made = this.#series.get(key) ?? { labels, count: 0, sum: 0, perBucket: this.#options.buckets.map(() => 0) };
    this.#series.set(key, made);
    return made;
  }

  #keyOf(labels: Labels): string {
    let key = "";
    for (const name of this.#options.labelNames) key += `${labels[name] ?? ""}\n`;
    return key;
  }

  #presentHistogram({ labels: sharedLabels, count, sum, perBucket }: Series): Sample[] {
    const { name, buckets } = this.#options;
    let below = 0;
    const bounds = buckets.map((le, at) => ({ le, value: (below += perBucket[at] ?? 0) }));
    return [
      ...[...bounds, { le: "+Inf", value: count }].map(({ le, value }) => ({
        ...{ metricName: `${name}_bucket`, labels: { le }, sharedLabels, value },
      })),
      { metricName: `${name}_sum`, labels: {}, sharedLabels, value: sum },
      { metricName: `${name}_count`, labels: {}, sharedLabels, value: count },
    ];
  }
}

function presentCounter({ labels, count }: Series): Sample[] {
  return [{ labels, value: count } as unknown as Sample];
}

// The daemon's metrics.

/** All metrics of the daemon. */
export interface MetricsText {
  /** In Prometheus' text exposition format, version 0.0.4. */
  text: string;
}

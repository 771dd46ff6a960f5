/** Owns what the metrics of an app ask of the API. */
import { graphql } from '../../../api/graphql.ts';

export const AppMetricsQuery = graphql(`
  query AppMetrics($id: ID!, $minutes: Int!) {
    app(id: $id) {
      id
      resources {
        cpus
        memoryMb
        replicas
      }
    }
    metrics(appId: $id, minutes: $minutes) {
      at
      cpu
      memoryBytes
      networkInBytes
      networkOutBytes
    }
    traffic(appId: $id, minutes: $minutes) {
      at
      requests
      answered2xx
      answered3xx
      answered4xx
      answered5xx
      answeredByEdge
      aborted
      bytesIn
      bytesOut
      p50Ms
      p95Ms
      p99Ms
    }
  }
`);

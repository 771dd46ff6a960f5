/**
 * Owns until when series of versions are cared for by those who make them, and which have long-term support. No
 * registry tells this; where this does not know it, neither do we.
 *
 * Sources: the versioning policy of PostgreSQL, Oracle's lifetime support policy, the maintenance policies of MariaDB,
 * MongoDB, Redis and ClickHouse, the release schedules of Node.js and Python.
 */

export interface Lifecycle {
  lts: boolean;
  /** `YYYY-MM-DD`. */
  endOfLife: string | null;
}

// prettier-ignore
const known: Readonly<Record<string, Readonly<Record<string, readonly [endOfLife: string, lts: boolean]>>>> = {
  postgres: { '18': ['2030-11-14', false], '17': ['2029-11-08', false], '16': ['2028-11-09', false], '15': ['2027-11-11', false], '14': ['2026-11-12', false] },
  mysql: { '9.4': ['2025-10-21', false], '8.4': ['2032-04-30', true], '8.0': ['2026-04-30', true] },
  mariadb: { '11.8': ['2028-06-04', true], '11.4': ['2029-05-29', true], '10.11': ['2028-02-16', true], '10.6': ['2026-07-06', true] },
  mongodb: { '8.0': ['2029-10-31', false], '7.0': ['2027-08-31', false] },
  redis: { '8.0': ['2026-02-11', false] },
  clickhouse: { '25.8': ['2026-08-29', true], '25.3': ['2026-03-20', true], '24.8': ['2025-08-20', true] },
  node: { '18': ['2025-04-30', false], '19': ['2023-06-01', false], '20': ['2026-04-30', false], '21': ['2024-06-01', false], '22': ['2027-04-30', false], '23': ['2025-06-01', false], '24': ['2028-04-30', false], '25': ['2026-06-01', false], '26': ['2029-04-30', false], '27': ['2030-04-30', false] },
  python: { '3.14': ['2030-10-31', false], '3.13': ['2029-10-31', false], '3.12': ['2028-10-31', false], '3.11': ['2027-10-31', false], '3.10': ['2026-10-31', false], '3.9': ['2025-10-31', false] },
};

export function lifecycleOf(product: string, series: string): Lifecycle {
  const [endOfLife = null, lts = false] = known[product]?.[series] ?? [];
  return { lts, endOfLife };
}

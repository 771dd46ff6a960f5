/** Owns how the edge treats the visitors of an app, as its team wants it. Gangway stores it, routes carry it. */
export interface AppEdgeSettings {
  /** Visitors get a page in the app's place. */
  maintenance: boolean;
  /** What that page says; null: a sentence of the edge's own. */
  maintenanceText: string | null;
  /** How long nothing may be sent or taken while a request is under way. */
  idleSeconds: number;
  /** How long a request may take from its head to the end of its answer; null: as long as it goes on. */
  totalSeconds: number | null;
  /** Of a request's body, of 1024 x 1024 bytes; null: any. */
  maxBodyMb: number | null;
  /** Requests and WebSockets that are with the app at once; null: any number. */
  maxConnections: number | null;
  /** What `Strict-Transport-Security` tells over HTTPS; null: it is not sent. */
  hsts: number | null;
  /** Whether each request is a line of the app's log. */
  accessLog: boolean;
}

export const defaultEdgeSettings: Readonly<AppEdgeSettings> = {
  maintenance: false,
  maintenanceText: null,
  idleSeconds: 600,
  totalSeconds: null,
  maxBodyMb: null,
  maxConnections: null,
  hsts: null,
  accessLog: false,
};

/** Of what was stored: another version may know other fields. */
export function edgeSettingsOf(stored?: Readonly<Partial<AppEdgeSettings>>): AppEdgeSettings {
  return { ...defaultEdgeSettings, ...stored };
}

/** Owns the parts of an app in the schema that stand for themselves: enums and plain records. */
import { lastWordsMs } from '../../actors/workload/ends.ts';
import { can } from '../../auth/rights/authorize.ts';
import type { LogName } from '../../logs/files/log.ts';
import type {
  AppExit,
  AppRecord,
  BuildConfig,
  GitSource,
  StoredUpload,
} from '../../store/records/records.ts';
import type { AppEdgeSettings } from '../../protocol/app-edge-settings.ts';
import type { Resources } from '../../protocol/workload.ts';
import { builder } from './builder.ts';
import { LineDecoder } from './logs.ts';

export const SourceType = builder.enumType('DeploySource', {
  values: ['UPLOAD', 'GIT', 'IMAGE', 'COMPOSE'] as const,
});

export const AppStatusType = builder.enumType('AppStatus', {
  values: ['idle', 'queued', 'building', 'active', 'stopped', 'error'] as const,
});

export const UploadType = builder.objectRef<StoredUpload>('Upload').implement({
  fields: (t) => ({
    filename: t.exposeString('filename'),
    size: t.exposeFloat('sizeBytes'),
    uploadedAt: t.expose('uploadedAtMs', { type: 'DateTime' }),
  }),
});

export const GitSourceType = builder.objectRef<GitSource>('GitSource').implement({
  fields: (t) => ({
    connectionId: t.exposeID('connectionId', { nullable: true }),
    repository: t.exposeString('repository'),
    branch: t.exposeString('branch'),
    path: t.exposeString('path', { nullable: true }),
    watchPaths: t.stringList({
      description:
        'Only a push that changes one of these files and folders deploys; none: any does.',
      resolve: ({ watchPaths = [] }) => watchPaths,
    }),
    submodules: t.boolean({
      description: 'Whether submodules are fetched, too: from the host of the repository alone.',
      resolve: ({ submodules = false }) => submodules,
    }),
  }),
});

export const ResourcesType = builder.objectRef<Resources>('Resources').implement({
  fields: (t) => ({
    memoryMb: t.exposeInt('memoryMb', { nullable: true }),
    cpus: t.exposeFloat('cpus', { nullable: true }),
    pids: t.exposeInt('pids', { nullable: true }),
    replicas: t.exposeInt('replicas'),
  }),
});

export const BuildConfigType = builder.objectRef<BuildConfig>('BuildConfig').implement({
  fields: (t) => ({
    buildCommand: t.exposeString('buildCommand', { nullable: true }),
    startCommand: t.exposeString('startCommand', { nullable: true }),
    dockerfile: t.exposeString('dockerfile', { nullable: true }),
    outputDir: t.exposeString('outputDir', { nullable: true }),
    nodeVersion: t.exposeString('nodeVersion', { nullable: true }),
    port: t.exposeInt('port', { nullable: true }),
    healthPath: t.exposeString('healthPath', { nullable: true }),
  }),
});

export const EdgeSettingsType = builder.objectRef<AppEdgeSettings>('EdgeSettings').implement({
  description: "How the edge treats the app's visitors.",
  fields: (t) => ({
    maintenance: t.exposeBoolean('maintenance', {
      description: "Whether visitors get a page with 503 in the app's place.",
    }),
    maintenanceText: t.exposeString('maintenanceText', {
      nullable: true,
      description: 'What that page says.',
    }),
    idleSeconds: t.exposeInt('idleSeconds', {
      description: 'How long nothing may be sent or taken within a request.',
    }),
    totalSeconds: t.exposeInt('totalSeconds', {
      nullable: true,
      description: 'How long a request may take in all; null: as long as it goes on.',
    }),
    maxBodyMb: t.exposeInt('maxBodyMb', {
      nullable: true,
      description: "The most MiB of a request's body, 413 beyond; null: any.",
    }),
    maxConnections: t.exposeInt('maxConnections', {
      nullable: true,
      description: 'The most requests and WebSockets at once, 503 beyond; null: any.',
    }),
    hsts: t.exposeInt('hsts', {
      nullable: true,
      description: 'Seconds that Strict-Transport-Security tells over HTTPS; null: it is not sent.',
    }),
    accessLog: t.exposeBoolean('accessLog', {
      description: "Whether each request is a line of the app's log.",
    }),
  }),
});

export interface ContainerView {
  name: string;
  image: string | null;
  state: string;
  startedAtMs: number | null;
}

export const ContainerType = builder.objectRef<ContainerView>('Container').implement({
  fields: (t) => ({
    name: t.exposeString('name'),
    image: t.exposeString('image', { nullable: true }),
    state: t.exposeString('state', { description: 'starting, running, restarting or stopping.' }),
    startedAt: t.expose('startedAtMs', { type: 'DateTime', nullable: true }),
  }),
});

/** Of an app that ended, so many lines are told with its end. */
const lastLines = 20;

interface ExitView {
  app: Readonly<AppRecord>;
  exit: Readonly<AppExit>;
}

export const ExitType = builder.objectRef<ExitView>('Exit').implement({
  fields: (t) => ({
    at: t.field({ type: 'DateTime', resolve: ({ exit }) => exit.atMs }),
    code: t.int({ nullable: true, resolve: ({ exit }) => exit.code }),
    signal: t.string({ nullable: true, resolve: ({ exit }) => exit.signal }),
    reason: t.string({
      description: 'exited, killed, out_of_memory or unhealthy.',
      resolve: ({ exit }) => exit.reason,
    }),
    lastLines: t.stringList({
      description: 'What it wrote last, as far as its log keeps it; none without view_logs.',
      resolve: ({ app, exit }, _args, { read, principal }) => {
        if (!can(read.reader, principal, 'view_logs', { kind: 'app', app })) return [];
        const until = exit.atMs + lastWordsMs;
        const lines = read.logs.lastOf(exit.log as LogName, exit.workloadId, until, lastLines);
        return new LineDecoder().decode(lines).map(({ text }) => text);
      },
    }),
  }),
});

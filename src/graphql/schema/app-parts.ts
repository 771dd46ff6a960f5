/** Owns the parts of an app in the schema that stand for themselves: enums and plain records. */
import type { BuildConfig, GitSource, Resources, StoredUpload } from '../../store/records.ts';
import { type Builder, ofRecord } from './builder.ts';

export interface ContainerView {
  name: string;
  image: string | null;
  state: string;
  startedAtMs: number | null;
}

export function addAppParts(builder: Builder) {
  const source = builder.enumType('DeploySource', {
    values: ['UPLOAD', 'GIT', 'IMAGE', 'COMPOSE'] as const,
  });
  const status = builder.enumType('AppStatus', {
    values: ['idle', 'queued', 'building', 'active', 'stopped', 'error'] as const,
  });
  const upload = builder.objectRef<StoredUpload>('Upload').implement({
    fields: (t) => ({
      filename: t.exposeString('filename'),
      size: t.float({ ...ofRecord, resolve: (record) => record.sizeBytes }),
      uploadedAt: t.field({
        ...ofRecord,
        type: 'DateTime',
        resolve: (record) => record.uploadedAtMs,
      }),
    }),
  });
  const git = builder.objectRef<GitSource>('GitSource').implement({
    fields: (t) => ({
      connectionId: t.exposeID('connectionId', { nullable: true }),
      repository: t.exposeString('repository'),
      branch: t.exposeString('branch'),
      path: t.exposeString('path', { nullable: true }),
    }),
  });
  const resources = builder.objectRef<Resources>('Resources').implement({
    fields: (t) => ({
      memoryMb: t.exposeInt('memoryMb', { nullable: true }),
      cpus: t.exposeFloat('cpus', { nullable: true }),
      pids: t.exposeInt('pids', { nullable: true }),
      replicas: t.exposeInt('replicas'),
    }),
  });
  const build = builder.objectRef<BuildConfig>('BuildConfig').implement({
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
  const container = builder.objectRef<ContainerView>('Container').implement({
    fields: (t) => ({
      name: t.exposeString('name'),
      image: t.exposeString('image', { nullable: true }),
      state: t.exposeString('state', { description: 'starting, running, restarting or stopping.' }),
      startedAt: t.field({
        ...ofRecord,
        type: 'DateTime',
        nullable: true,
        resolve: (view) => view.startedAtMs,
      }),
    }),
  });
  return { source, status, upload, git, resources, build, container };
}

/** Owns domains of apps in the schema. */
import { domainsActor } from '../../actors/domains/protocol.ts';
import { questionOf } from '../../actors/domains/verdict.ts';
import type { CertificateRecord, DnsEntry, DomainRecord } from '../../store/records/records.ts';
import { tables } from '../../store/records/tables.ts';
import { askActor, writeSide } from '../access.ts';
import { AppType } from './apps.ts';
import { builder } from './builder.ts';
import { appByAppId, domainByDomainId, domainById, needs } from './needs.ts';

const DomainStatusType = builder.enumType('DomainStatus', {
  values: ['pending_dns', 'issuing', 'active', 'failed'] as const,
});

const DnsRecordType = builder.objectRef<DnsEntry>('DnsRecord').implement({
  description: 'What has to be set in the DNS.',
  fields: (t) => ({
    type: t.exposeString('type', { description: 'A, AAAA, CNAME or TXT.' }),
    name: t.exposeString('name'),
    value: t.exposeString('value'),
    found: t.exposeBoolean('found', { description: 'Whether it was there at the last look.' }),
  }),
});

export const CertificateType = builder
  .objectRef<Readonly<CertificateRecord>>('Certificate')
  .implement({
    fields: (t) => ({
      issuer: t.exposeString('issuer'),
      notBefore: t.expose('notBeforeMs', { type: 'DateTime' }),
      notAfter: t.expose('notAfterMs', { type: 'DateTime' }),
      names: t.exposeStringList('names'),
      managed: t.exposeBoolean('managed', {
        description: 'Whether it was issued by ACME, and renews itself; else somebody uploaded it.',
      }),
    }),
  });

export const DomainType = builder.objectRef<Readonly<DomainRecord>>('Domain').implement({
  fields: (t) => ({
    id: t.exposeID('id'),
    appId: t.exposeID('appId'),
    host: t.exposeString('host', {
      description: 'In ASCII and lower case; `*.` before it stands for one label.',
    }),
    redirectTo: t.exposeString('redirectTo', {
      nullable: true,
      description: 'Another host of the app, which visitors are sent to.',
    }),
    isPrimary: t.exposeBoolean('isPrimary'),
    status: t.expose('status', { type: DomainStatusType }),
    error: t.exposeString('error', {
      nullable: true,
      description: 'Why it is not active, or will not be for ever.',
    }),
    records: t.expose('records', { type: [DnsRecordType] }),
    certificate: t.field({
      type: CertificateType,
      nullable: true,
      resolve: ({ certificateId: id }, _args, { read }) =>
        id === null ? null : read.reader.get(tables.certificates, id),
    }),
    createdAt: t.expose('createdAtMs', { type: 'DateTime' }),
  }),
});

builder.objectField(AppType, 'domains', (t) =>
  t.field({
    type: [DomainType],
    description: 'The oldest first.',
    resolve: ({ id }, _args, { read }) =>
      read.reader.list(tables.domains, 'app', [id], { limit: Infinity }),
  }),
);

builder.mutationFields((t) => ({
  addDomain: t.field({
    type: DomainType,
    ...needs('configure_apps', appByAppId, {
      description:
        'The host leads to the app once its records are found. With redirectTo, another domain of the app, visitors ' +
        'are sent there.',
      args: { host: t.arg.string({ required: true }), redirectTo: t.arg.string() },
      resolve: async ({ id: appId }, { host, redirectTo = null }, context) => {
        const own = (await writeSide(context).dns?.own()) ?? null;
        return askActor(context, domainsActor, { type: 'add', appId, host, redirectTo, own });
      },
    }),
  }),
  verifyDomain: t.field({
    type: DomainType,
    ...needs('configure_apps', domainById, {
      description: 'Looks at the DNS now. One that has failed is tried anew.',
      resolve: async (domain, _args, context) => {
        const { dns } = writeSide(context);
        if (!dns) throw new Error('No DNS can be asked here.');
        const seen = await dns.lookNow(questionOf(domain));
        return askActor(context, domainsActor, { type: 'verify', domainId: domain.id, seen });
      },
    }),
  }),
  setPrimaryDomain: t.field({
    type: DomainType,
    ...needs('configure_apps', domainById, {
      description: 'The app has its address from now on, once it is active.',
      resolve: ({ id }, _args, context) =>
        askActor(context, domainsActor, { type: 'set-primary', domainId: id }),
    }),
  }),
  uploadCertificate: t.field({
    type: DomainType,
    ...needs('configure_apps', domainByDomainId, {
      description:
        'A certificate with those above it, and its key, both in PEM; in use within a second.',
      args: {
        certificate: t.arg.string({ required: true }),
        privateKey: t.arg.string({ required: true }),
      },
      resolve: ({ id: domainId }, { certificate, privateKey }, context) => {
        const given = { domainId, certificate, privateKey };
        return askActor(context, domainsActor, { type: 'upload-certificate', ...given });
      },
    }),
  }),
  removeDomain: t.boolean(
    needs('configure_apps', domainById, {
      description: 'Anybody who holds its DNS may have the host then.',
      resolve: ({ id }, _args, context) =>
        askActor(context, domainsActor, { type: 'remove', domainId: id }),
    }),
  ),
}));

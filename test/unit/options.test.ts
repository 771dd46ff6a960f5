/**
 * Where each option is shown to have an effect, at the place where it is wired in. An option without an
 * entry fails the test, and so does an entry that names a test which is not there.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { it } from 'node:test';
import { resolveConfig } from '../../src/config.ts';
import type { Config } from '../../src/config.ts';

const bounds = 'scenario/options.test.ts';
const network = 'scenario/options-network.test.ts';
const threads = 'scenario/options-threads.test.ts';
const images = 'scenario/options-images.test.ts';
const startup = 'scenario/startup.test.ts';
const builds =
  'buildConcurrency lets so many builds go on at once, buildTimeoutMinutes each for so long';
const health = 'healthTimeoutSeconds and healthPath decide over a new instance';
const logs = 'logQuotaMb bounds the lines of an app, and logMaxDays how long they are kept';
const activity = 'activityMaxPerTeam and activityDays bound the activity';
const go = 'goImage is what Go apps are built with, baseImage what they run in';
const names = 'publicUrl and appsDomain are in what people are shown';
const daemon = 'runtime "auto" takes the daemon that answers at dockerSocket';
const place = 'dataDir holds all of it, without a key where instanceKey is given';
const figures =
  'answers liveness to all, and figures to who has the token or comes from the network';

const acme = 'unit/service/acme-settings.test.ts';
const https: [string, string] = [
  'scenario/certificates.test.ts',
  'comes by itself once a domain is verified, and ends with it',
];
const gateways: [string, string] = [
  'scenario/gateway-threads.test.ts',
  'share the connections to one port, and show the same in the metrics of any',
];

const domains: [string, string] = [
  'scenario/domains.test.ts',
  'lead to it once dnsResolvers find what publicAddresses ask for',
];

const panel = 'scenario/panel-at-edge.test.ts';
const pickers: [string, string] = [
  'scenario/pickers.test.ts',
  'dockerHubUrl, dockerRegistryUrl, nodeIndexUrl and npmRegistryUrl are what is asked',
];

/** File below `test/`, and the title of the test. */
const backups = 'unit/service/backup-parts.test.ts';
const proofs: Record<keyof Config, [file: string, title: string]> = {
  host: [network, 'host and port say where it listens'],
  port: [network, 'host and port say where it listens'],
  dataDir: [network, place],
  publicUrl: [network, names],
  appsDomain: [network, names],
  edgeHost: [bounds, 'edgeHost and edgePort say where the edge is'],
  edgePort: [bounds, 'edgeHost and edgePort say where the edge is'],
  agentHost: ['scenario/agents.test.ts', 'listen at agentHost only while an agent may come'],
  agentPort: [
    'scenario/servers.test.ts',
    'gets its certificate, and hears that it has to dial agentPort',
  ],
  edgeTlsPort: [bounds, 'edgeTlsPort is where the edge speaks HTTPS'],
  edgeProcesses: [bounds, 'edgeProcesses says how many serve the port of the edge'],
  edgePanel: [panel, 'signs people in by their own address, with a cookie for HTTPS alone'],
  panelHstsSeconds: [panel, 'signs people in by their own address, with a cookie for HTTPS alone'],
  runtime: [images, daemon],
  dockerSocket: [images, daemon],
  nodeImage: [images, 'nodeImage is what Node apps are built with'],
  pythonImage: [images, 'pythonImage is what Python apps are built with'],
  goImage: [images, go],
  baseImage: [images, go],
  databaseImages: [images, 'databaseImages is what databases run in'],
  isolationWithout: [
    'scenario/isolation.test.ts',
    'isolationWithout says which layers of isolation are left out',
  ],
  trustedProxies: [
    startup,
    'shows the page, and takes the first account from afar only with the code',
  ],
  dnsResolvers: domains,
  publicAddresses: domains,
  privateNetworks: [
    'scenario/oauth-refusals.test.ts',
    'connect a client by its address, once somebody signed in asks for it',
  ],
  githubUrl: [
    'scenario/github.test.ts',
    'githubUrl is where an App is made, whose pushes are live and told at the commit',
  ],
  dockerHubUrl: pickers,
  dockerRegistryUrl: pickers,
  nodeIndexUrl: pickers,
  npmRegistryUrl: pickers,
  backupRoots: [
    'scenario/destinations.test.ts',
    'backupRoots names the folders besides our own in which backups may be',
  ],
  'acme.directory': https,
  'acme.email': [acme, 'gives the order its settings from the configuration'],
  'acme.eab': [
    'unit/acme/order.test.ts',
    'is bound to a customer of the authority where that asks for it',
  ],
  'acme.ca': https,
  'acme.dnsCommand': [
    'unit/actors/certificates/certificates.test.ts',
    'proves a wildcard by the program that sets records, and takes them back',
  ],
  logLevel: [network, 'logLevel says what is written'],
  metrics: gateways,
  metricsToken: [startup, figures],
  metricsNetworks: [startup, figures],
  instanceKey: [network, place],
  maxLogStreamsPerUser: [bounds, 'maxLogStreamsPerUser bounds the log streams of a person'],
  maxConsolesPerUser: [bounds, 'maxConsolesPerUser bounds the consoles of a person'],
  maxRestoreMb: [
    'unit/gateway/transports/restore-upload.test.ts',
    'refuses a declared length above maxRestoreMb before a byte is read',
  ],
  maxUploadMb: [bounds, 'maxUploadMb bounds an archive'],
  maxSockets: [network, 'maxSockets bounds the connections'],
  maxHeaderKb: [network, 'maxHeaderKb bounds the head of a request'],
  answerSeconds: [
    'scenario/hung-places.test.ts',
    'answerSeconds end the wait for an answer, with an error of GraphQL',
  ],
  bodyIdleSeconds: [bounds, 'bodyIdleSeconds end a body of which no byte comes'],
  drainSeconds: ['scenario/endings.test.ts', 'answers it while drainSeconds are not over'],
  logQuotaMb: [bounds, logs],
  logMaxDays: [bounds, logs],
  activityDays: [bounds, activity],
  activityMaxPerTeam: [bounds, activity],
  backupConcurrency: [backups, 'backupConcurrency lets so many backups go on at once'],
  backupTimeoutMinutes: [
    backups,
    'backupTimeoutMinutes end a backup or a restore that takes longer',
  ],
  backupJitterSeconds: [backups, 'backupJitterSeconds bound how much later a schedule begins'],
  buildConcurrency: [bounds, builds],
  buildTimeoutMinutes: [bounds, builds],
  healthTimeoutSeconds: [bounds, health],
  appDrainSeconds: [bounds, 'appDrainSeconds keep the instance that is replaced'],
  gatewayThreads: gateways,
  queryThreads: [threads, 'queryThreads says how many answer queries'],
  bulkThreads: [threads, 'bulkThreads says how many receive archives, and how many unpack them'],
  inlineQueryCost: [threads, 'inlineQueryCost says which queries need none'],
  mcpCallsPerMinute: [
    'scenario/mcp-access.test.ts',
    'is bounded for each token by itself, with the time to wait',
  ],
  mcpCallsAtOnce: [
    'scenario/mcp-fleet.test.ts',
    'holds a token to its calls at once, until its client stops waiting for them',
  ],
};

it('every option has a test that shows its effect', () => {
  const options = Object.keys(resolveConfig({}).config);
  assert.deepEqual(Object.keys(proofs).sort(), options.sort());
  for (const [option, [file, title]] of Object.entries(proofs)) {
    const text = readFileSync(new URL(`../${file}`, import.meta.url), 'utf8');
    assert.ok(text.includes(`'${title}'`), `${option}: "${title}" is not in ${file}`);
  }
});

/**
 * Owns making an app of what was chosen: it is created, what it is built from is packed and sent, and its first
 * deployment is queued. A step that failed is tried again without making another app.
 */
import { useEffect, useRef, useState } from 'react';
import { type Client, useClient } from 'urql';
import { type ApiError, toApiError } from '../../api/errors.ts';
import { graphql, type VariablesOf } from '../../api/graphql.ts';
import { sendArchive } from '../../packing/send.ts';
import { Redeploy } from '../app/actions.tsx';

const CreateApp = graphql(`
  mutation CreateApp($input: CreateAppInput!) {
    createApp(input: $input) {
      id
      name
      slug
      status
      capabilities
    }
  }
`);

export type CreateAppInput = VariablesOf<typeof CreateApp>['input'];

interface MakeOptions {
  onProgress: (done: number, total: number) => void;
  signal: AbortSignal;
}

/** What an app is built from, and how it becomes one archive. */
export interface ArchiveToSend {
  readonly filename: string;
  readonly make: (options: MakeOptions) => Promise<Blob>;
}

export type DeployState =
  | { at: 'idle' }
  | { at: 'creating' | 'queueing' }
  | { at: 'packing' | 'sending'; done: number; total: number }
  | { at: 'failed'; error: ApiError };

interface Wanted {
  input: CreateAppInput | null;
  archive: ArchiveToSend | null;
  /** Whether to deploy it at once. */
  deploys: boolean;
}

export interface Deployed {
  appId: string;
  deploymentId: string | null;
}

interface Deploying {
  state: DeployState;
  /** Null when it failed or was canceled. */
  deploy: (wanted: Wanted) => Promise<Deployed | null>;
  cancel: () => void;
  /** Of an app that was made by an attempt that failed later. */
  madeAppId: string | null;
}

/** `appId`: of an app that is there already, which gets something new. */
export function useDeploy(appId: string | null = null): Deploying {
  const client = useClient();
  const [state, setState] = useState<DeployState>({ at: 'idle' });
  const made = useRef(appId);
  const stop = useRef<AbortController | null>(null);
  useEffect(() => () => stop.current?.abort(), []);
  const deploy = async (wanted: Wanted): Promise<Deployed | null> => {
    const controller = new AbortController();
    stop.current = controller;
    try {
      const { signal } = controller;
      const archive = await packed(wanted.archive, signal, setState);
      if (made.current === null) {
        setState({ at: 'creating' });
        made.current = await create(client, wanted.input);
      }
      const id = made.current;
      if (archive !== null) await send(id, archive, signal, setState);
      if (!wanted.deploys) return { appId: id, deploymentId: null };
      setState({ at: 'queueing' });
      return { appId: id, deploymentId: await queue(client, id) };
    } catch (error) {
      if (controller.signal.aborted) setState({ at: 'idle' });
      else setState({ at: 'failed', error: toApiError(error) });
      return null;
    }
  };
  return { state, deploy, cancel: () => stop.current?.abort(), madeAppId: made.current };
}

type Packed = { filename: string; blob: Blob };

async function packed(
  archive: ArchiveToSend | null,
  signal: AbortSignal,
  tell: (state: DeployState) => void,
): Promise<Packed | null> {
  if (archive === null) return null;
  const onProgress = atMostOften((done, total) => tell({ at: 'packing', done, total }));
  onProgress(0, 0);
  return { filename: archive.filename, blob: await archive.make({ onProgress, signal }) };
}

async function create(client: Client, input: CreateAppInput | null): Promise<string> {
  if (input === null) throw new Error('There is nothing to make an app of.');
  const { data, error } = await client.mutation(CreateApp, { input });
  if (error) throw error;
  if (!data) throw new Error('Nothing came back.');
  return data.createApp.id;
}

async function send(
  appId: string,
  { filename, blob: archive }: Packed,
  signal: AbortSignal,
  tell: (state: DeployState) => void,
): Promise<void> {
  const onProgress = atMostOften((done, total) => tell({ at: 'sending', done, total }));
  onProgress(0, archive.size);
  await sendArchive({ appId, filename, archive, onProgress, signal });
}

async function queue(client: Client, appId: string): Promise<string> {
  const { data, error } = await client.mutation(Redeploy, { appId });
  if (error) throw error;
  if (!data) throw new Error('Nothing came back.');
  return data.redeploy.id;
}

const tellEveryMs = 80;

/** So that a page with thousands of small files is not drawn thousands of times. */
function atMostOften(tell: (done: number, total: number) => void): typeof tell {
  let last = -Infinity;
  return (done, total) => {
    const now = performance.now();
    if (now - last < tellEveryMs && done < total) return;
    last = now;
    tell(done, total);
  };
}

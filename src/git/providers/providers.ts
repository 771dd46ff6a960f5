/** Owns the list of providers. */
import { bitbucket } from './bitbucket.ts';
import { generic } from './generic.ts';
import { forgejo, gitea } from './gitea.ts';
import { github } from './github.ts';
import { gitlab } from './gitlab.ts';
import { gogs } from './gogs.ts';
import type { Provider, ProviderKind } from './provider.ts';

export const providers: Readonly<Record<ProviderKind, Provider>> = {
  ...{ gitlab, gitea, forgejo, gogs, bitbucket, generic, github },
};

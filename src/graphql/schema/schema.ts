/** Owns the schema, which its topics add to. What is not built yet is not in it. */
import { auditMutations } from '../audited-mutations.ts';
import { builder, schemaDirectives } from './builder.ts';
import './account-security.ts';
import './activity.ts';
import './app-changes.ts';
import './backups.ts';
import './consoles.ts';
import './databases.ts';
import './destinations.ts';
import './domains.ts';
import './folders.ts';
import './git.ts';
import './live.ts';
import './log-search.ts';
import './metrics.ts';
import './moves.ts';
import './previews.ts';
import './registries.ts';
import './restores.ts';
import './servers.ts';
import './team-changes.ts';
import './teams.ts';
import './tokens.ts';
import './trash.ts';

/** The executable schema. To import it takes about 20 ms, so it is not imported before it is needed. */
export const schema = builder.toSchema({ directives: schemaDirectives });
auditMutations(schema);

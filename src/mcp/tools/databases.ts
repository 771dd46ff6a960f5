/** Owns the tools for databases. Their answers hold no credential: only people can reveal one. */
import * as z from 'zod';
import { databaseEngines } from '../../store/records/records.ts';
import { toolInput } from '../input.ts';
import { without } from './app-argument.ts';
import type { DocumentTool } from './document-tool.ts';

const fields = 'id name engine version status error';
/** Redacts with the secrets of the whole team, because names and server messages may hold anything. */
const ofAny = (): undefined => undefined;
const noDatabase = 'There is no such database here; see list_databases, or name its team.';

export const databaseTools: readonly DocumentTool[] = [
  {
    name: 'list_databases',
    description: 'Databases of the team.',
    group: 'databases',
    effect: 'reads',
    needs: null,
    input: toolInput({}),
    document: `query { databases { ${fields} } }`,
    redacted: ofAny,
    // The answer is searched for passwords, which are in the journal as well.
    repeatable: true,
  },
  {
    name: 'get_database',
    description: 'One database; its password is masked.',
    group: 'databases',
    effect: 'reads',
    needs: null,
    input: toolInput({ databaseId: z.string().min(1).max(100) }),
    document: `query ($id: ID!) { database(id: $id) {
      ${fields} connectionStringMasked folderId createdAt } }`,
    variables: ({ databaseId }) => ({ id: databaseId }),
    absent: ['database', noDatabase],
    redacted: ofAny,
    repeatable: true,
  },
  {
    name: 'create_database',
    description:
      'Create a database. Apps get its address by a variable with the value ${database.<id>.url}.',
    group: 'databases',
    effect: 'changes',
    needs: 'create_databases',
    input: toolInput({
      name: z.string().min(1).max(100),
      engine: z.enum(databaseEngines),
      version: z.string().max(20).optional(),
      folderId: z.string().max(100).optional(),
      databaseName: z.string().max(64).optional(),
      username: z.string().max(64).optional(),
    }),
    document: `mutation ($input: CreateDatabaseInput!) {
      createDatabase(input: $input) { ${fields} } }`,
    variables: (args) => ({ input: without(args, 'team') }),
    redacted: ofAny,
  },
];

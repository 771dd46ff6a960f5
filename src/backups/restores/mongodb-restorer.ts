/** Owns the way back of an archive of `mongodump`, of which only what is of this database is read. */
import { mongodbClient } from '../mongodb-client.ts';
import type { DatabaseTarget } from '../targets.ts';
import { besideRestorer } from './beside-restorer.ts';
import type { Restorer } from './restorer.ts';

const lookScript = `const env = process.env;
db = connect('mongodb://127.0.0.1:' + env.MONGO_PORT + '/' + env.MONGO_NAME);
db.auth(env.MONGO_USER, env.MONGO_PASSWORD);
print(db.getCollectionNames().join(' '));`;

export function mongodbRestorer(target: DatabaseTarget): Restorer {
  const { databaseName, username, password, ownPort } = target;
  // Without `--stopOnError` a document that is refused would be left out without a word.
  const options = [`--nsInclude=${databaseName}.*`, '--stopOnError'];
  const look = {
    command: ['mongosh', '--quiet', '--nodb', '--eval', lookScript],
    env: {
      MONGO_PORT: String(ownPort),
      MONGO_NAME: databaseName,
      MONGO_USER: username,
      MONGO_PASSWORD: password,
    },
  };
  return besideRestorer(target, { read: mongodbClient(target, 'mongorestore', options), look });
}

import { MemoryStore } from '../support/memory-store.ts';
import { modelTables } from '../support/model-store.ts';
import { ScriptedStore } from '../support/scripted-store.ts';
import { openedStore } from '../support/store-fixture.ts';
import { run } from './store.suite.ts';

run('the store', (t) => openedStore(t, { tables: modelTables }));
run('a store in memory', async () => new MemoryStore(modelTables));
run('a store in memory whose commits are scripted', async () => new ScriptedStore(modelTables));

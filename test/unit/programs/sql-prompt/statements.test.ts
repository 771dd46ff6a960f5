import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { StatementReader } from '../../../../src/programs/sql-prompt/statements.ts';
import { expandedText, tableText } from '../../../../src/programs/sql-prompt/tables.ts';

function read(text: string): string[] {
  const reader = new StatementReader();
  const statements = text.split('\n').flatMap((line) => reader.push(line));
  const rest = reader.flush();
  return rest === '' ? statements : [...statements, `… ${rest}`];
}

describe('StatementReader', () => {
  const cases: [string, string[]][] = [
    ['SELECT 1;', ['SELECT 1']],
    ['SELECT 1; SELECT 2;\nSELECT', ['SELECT 1', 'SELECT 2', '… SELECT']],
    ["SELECT ';';", ["SELECT ';'"]],
    ["SELECT 'it''s;';", ["SELECT 'it''s;'"]],
    ["SELECT E'\\';' ;", ["SELECT E'\\';'"]],
    ["SELECT name'\\';", ["SELECT name'\\'"]],
    ['SELECT ";" FROM t;', ['SELECT ";" FROM t']],
    ['SELECT 1 -- one; two\n, 2;', ['SELECT 1 -- one; two\n, 2']],
    ['SELECT /* ; /* ; */ ; */ 1;', ['SELECT /* ; /* ; */ ; */ 1']],
    ['DO $$ BEGIN; END; $$;', ['DO $$ BEGIN; END; $$']],
    ['SELECT $a$ ; $b$ ; $a$;', ['SELECT $a$ ; $b$ ; $a$']],
    ['SELECT $1;', ['SELECT $1']],
    ['SELECT a$b$;', ['SELECT a$b$']],
    [';;;', []],
    ['', []],
  ];
  for (const [text, statements] of cases) {
    it(`reads ${JSON.stringify(text)}`, () => {
      assert.deepEqual(read(text), statements);
    });
  }

  it('shows what is open', () => {
    const reader = new StatementReader();
    const marks = ["SELECT 'a", '\' || "b', '" || $x$', '$x$ /* c', '*/'].map((line) => {
      reader.push(line);
      return reader.mark;
    });
    assert.deepEqual(marks, ["'", '"', '$', '*', '-']);
    assert.ok(reader.isPending);
    reader.flush();
    assert.ok(!reader.isPending);
  });
});

describe('tableText()', () => {
  it('lays columns below their names, numbers to the right', () => {
    const columns = [
      { name: 'id', isNumber: true },
      { name: 'what', isNumber: false },
    ];
    assert.equal(
      tableText(columns, [['1', 'tea'], ['22', null], ['3', 'two\nlines']]), // prettier-ignore
      ' id | what\n----+-------\n  1 | tea\n 22 |\n  3 | two\n    | lines\n(3 rows)\n',
    );
  });

  it('shows control characters of data as what they are', () => {
    const columns = [{ name: 'a', isNumber: false }];
    assert.match(tableText(columns, [['\u001b[31mred']]), /\\x1b\[31mred/);
    assert.match(tableText(columns, []), /\(0 rows\)/);
  });
});

describe('expandedText()', () => {
  it('has one line a column', () => {
    const columns = [
      { name: 'id', isNumber: true },
      { name: 'what', isNumber: false },
    ];
    assert.equal(expandedText(columns, [['1', 'tea']]), '-[ RECORD 1 ]\nid   | 1\nwhat | tea\n');
  });
});

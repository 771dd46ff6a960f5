import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import { scramVerifier } from '../../../src/lib/scram.ts';

describe('scramVerifier()', () => {
  it('is what PostgreSQL keeps for a password', () => {
    // SELECT rolpassword FROM pg_authid, of a role with the password "pencil" and this salt.
    const salt = Buffer.from('W22ZaJ0SNY7soEsUEjb6gQ==', 'base64');
    assert.equal(
      scramVerifier('pencil', salt),
      'SCRAM-SHA-256$4096:W22ZaJ0SNY7soEsUEjb6gQ==$WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY=:wfPLwcE6nTWhTAmQ7tl2KeoiWGPlZqQxSrmfPwDl2dU=',
    );
    assert.notEqual(scramVerifier('pencil'), scramVerifier('pencil'));
  });
});

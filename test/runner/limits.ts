/**
 * How long tests may take: far more than they do on two busy cores, so that only a hang is cut.
 * GANGWAY_TESTS_LIMIT_MS sets another limit of one test, by which the others go.
 */
const given = Number(process.env['GANGWAY_TESTS_LIMIT_MS'] ?? '');

/** One test, and one hook. */
export const testMs = given > 0 ? given : 300_000;
/** One file, from its start to its end; cuts what the limits of tests can't, such as a busy loop. */
export const fileMs = testMs * 4;
/** From the end of a file's last test to the end of its process. */
export const lingerMs = testMs / 15;

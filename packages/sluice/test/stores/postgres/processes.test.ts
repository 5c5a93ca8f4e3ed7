import { admitExactlyTheLimit } from '../redis/hammers.ts';
import { postgresServer } from 'sluice-test-support/postgres/server.ts';

const HOUR = 3_600_000;

// The clocks of two are off: only the server's counts.
admitExactlyTheLimit(100, postgresServer, [['pg'], ['pg', HOUR], ['postgres'], ['postgres', -HOUR]]);

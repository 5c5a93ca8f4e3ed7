import { admitExactlyTheLimit } from '../redis/hammers.ts';
import { postgresServer } from 'sluice-test-support/postgres/server.ts';

const HOUR = 3_600_000;

// The clocks of two processes are wrong, but only the server's clock matters.
admitExactlyTheLimit(100, postgresServer, [['pg'], ['pg', HOUR], ['postgres'], ['postgres', -HOUR]]);

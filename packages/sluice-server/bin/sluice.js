#!/usr/bin/env node
import { main } from '../dist/cli.js';

// Who read what we print has gone: a server goes on, all others have nobody left to work for.
process.stdout.on('error', (error) => {
  if (error.code !== 'EPIPE') throw error;
  if (process.argv[2] !== 'serve') process.exit(0);
});

process.exitCode = await main(process.argv.slice(2));

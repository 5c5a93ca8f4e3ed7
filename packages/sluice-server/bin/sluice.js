#!/usr/bin/env node
import { main } from '../dist/cli/cli.js';
import { surviveOutputErrors } from '../dist/cli/output.js';

surviveOutputErrors(process.argv[2], process);
process.exitCode = await main(process.argv.slice(2));
// A server that could not start must exit, even if something still keeps the process alive.
if (process.argv[2] === 'serve') process.exit();

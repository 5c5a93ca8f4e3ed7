#!/usr/bin/env node
import { main } from '../dist/cli.js';
import { surviveOutputErrors } from '../dist/output.js';

surviveOutputErrors(process.argv[2], process);
process.exitCode = await main(process.argv.slice(2));

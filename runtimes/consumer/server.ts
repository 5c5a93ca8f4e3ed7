// Uses the server as a library. This file is only compiled, never run.
import { createCore, loadConfig, parseConfig, type RunningServer, startServer } from 'sluice-server';

export { createCore, loadConfig, parseConfig };
export const start: (...args: Parameters<typeof startServer>) => Promise<RunningServer> = startServer;

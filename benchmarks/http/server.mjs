/** A process with one app. It reports its port, and reports its CPU time on request. */
import { apps } from './apps.mjs';

const [framework, variant] = process.argv.slice(2);
const server = await apps[framework].start(variant);
if (!server.listening) await new Promise((resolve) => server.once('listening', resolve));
server.keepAliveTimeout = 60_000;
process.on('message', () => {
  const { user, system } = process.cpuUsage();
  process.send({ cpu: user + system });
});
process.on('disconnect', () => process.exit());
process.send({ port: server.address().port });

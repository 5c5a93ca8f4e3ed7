/**
 * A process that gives one fixed answer: node:http without any parsing or limit, or an echo on grpc-js. The time that Sluice's
 * listeners take beyond this is the cost of Sluice itself. The fixed answer was recorded from a Sluice server, so it has the same
 * size as a real one.
 */
import { once } from 'node:events';
import { createServer } from 'node:http';
import { ECHO, grpc } from './grpc.mjs';

const floors = {
  http({ headers, body }) {
    const server = createServer((request, response) => {
      request.resume();
      request.on('end', () => {
        response.writeHead(200, headers);
        response.end(body);
      });
    });
    server.keepAliveTimeout = 60_000;
    return new Promise((resolve) => {
      server.listen(0, '127.0.0.1', () => resolve(server.address().port));
    });
  },
  grpc({ message }) {
    const server = new grpc.Server();
    const bytes = Buffer.from(message, 'base64');
    server.addService({ ShouldRateLimit: ECHO }, { ShouldRateLimit: (_call, reply) => reply(null, bytes) });
    return new Promise((resolve, reject) => {
      server.bindAsync('127.0.0.1:0', grpc.ServerCredentials.createInsecure(), (error, port) =>
        error === null ? resolve(port) : reject(error),
      );
    });
  },
};

process.on('disconnect', () => process.exit());
const [{ listener, answer }] = await once(process, 'message');
process.send({ port: await floors[listener](answer) });

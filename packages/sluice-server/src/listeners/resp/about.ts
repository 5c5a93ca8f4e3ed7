/** The commands INFO and COMMAND, with which clients query the server. */
import { VERSION } from '../../version.ts';
import { type Command, type Commands, RespError } from './command.ts';
import { bulk, integer, list, map, nothing, type Protocol, set, simple, verbatim } from './reply.ts';

/** The Redis version whose commands we mimic. Some clients check it. */
export const REDIS_VERSION = '7.2.0';

export interface Facts {
  readonly connections: () => number;
  readonly commands: () => number;
  readonly port: () => number;
}

const start = Date.now();

export function infoCommand({ connections, commands, port }: Facts): Command {
  const sections = (): Readonly<Record<string, Readonly<Record<string, string | number>>>> => ({
    Server: {
      redis_version: REDIS_VERSION,
      sluice_version: VERSION,
      redis_mode: 'standalone',
      process_id: process.pid,
      tcp_port: port(),
      uptime_in_seconds: Math.floor((Date.now() - start) / 1000),
    },
    Clients: { connected_clients: connections() },
    Memory: { used_memory: process.memoryUsage.rss() },
    Persistence: { loading: 0 },
    Stats: { total_commands_processed: commands() },
    Replication: { role: 'master', connected_slaves: 0 },
    Cluster: { cluster_enabled: 0 },
  });
  return {
    summary: 'Returns information about the server.',
    usage: '[section ...]',
    arity: [0, 20],
    run([, ...names], { protocol }) {
      const wanted = new Set(names.map((name) => name.toLowerCase()));
      const isAll = names.length === 0 || ['all', 'default', 'everything'].some((name) => wanted.has(name));
      const shown = Object.entries(sections())
        .filter(([name]) => isAll || wanted.has(name.toLowerCase()))
        .map(([name, facts]) => [
          `# ${name}`,
          ...Object.entries(facts).map(([key, value]) => `${key}:${value}`),
          '',
        ]);
      return verbatim(protocol, shown.flat().join('\r\n'));
    },
  };
}

export function commandCommand(commands: Commands): Command {
  return {
    summary: 'Returns information about the commands.',
    usage: '[COUNT | LIST | INFO name ... | DOCS name ...]',
    arity: [0, 100],
    run([, sub = '', ...names], { protocol }) {
      const lower = names.map((name) => name.toLowerCase());
      switch (sub.toLowerCase()) {
        case '':
          return list([...commands].map(([name, command]) => entry(protocol, name, command)));
        case 'count':
          return integer(commands.size);
        case 'list':
          return list([...commands.keys()].map(bulk));
        case 'info':
          return list(
            (names.length === 0 ? [...commands.keys()] : lower).map((name) => {
              const command = commands.get(name);
              return command === undefined ? nothing(protocol) : entry(protocol, name, command);
            }),
          );
        case 'docs':
          return map(
            protocol,
            [...commands]
              .filter(([name]) => names.length === 0 || lower.includes(name))
              .map(([name, command]) => [name, docs(protocol, command)]),
          );
        default:
          throw new RespError(
            'ERR',
            `unknown subcommand '${sub.slice(0, 40)}'; COMMAND accepts COUNT, LIST, INFO and DOCS`,
          );
      }
    },
  };
}

/**
 * Describes a command for COMMAND: name, arity including the name (negative if it is a minimum), flags, positions of the first
 * and last key, step between keys, and four lists, which are always empty here.
 */
function entry(
  protocol: Protocol,
  name: string,
  { arity: [fewest, most], hasKey = false, needsNoAuth = false }: Command,
): string {
  const arity = fewest === most ? fewest + 1 : -(fewest + 1);
  const flags = [hasKey ? 'write' : 'fast', ...(needsNoAuth ? ['no_auth'] : [])].map(simple);
  const key = integer(hasKey ? 1 : 0);
  return list([
    bulk(name),
    integer(arity),
    set(protocol, flags),
    key,
    key,
    key,
    set(protocol, []),
    list([]),
    list([]),
    list([]),
  ]);
}

function docs(protocol: Protocol, { summary, usage, hasKey = false }: Command): string {
  const words = usage === '' ? [] : usage.split(' ');
  const shown = words.map((word, i) =>
    map(protocol, [
      ['name', bulk(word)],
      ['type', bulk(hasKey && i === 0 ? 'key' : 'string')],
      ['display_text', bulk(word)],
    ]),
  );
  return map(protocol, [
    ['summary', bulk(summary)],
    ['since', bulk('0.1.0')],
    ['group', bulk(hasKey ? 'limits' : 'connection')],
    ...(shown.length > 0 ? [['arguments', list(shown)] as const] : []),
  ]);
}

/** All commands of the RESP listener. */
import type { Core } from '../../core/core.ts';
import { detachedCopy } from '../../core/detached-copy.ts';
import type { ListenerOptions } from '../listener.ts';
import { secondsOf } from '../auth-attempts.ts';
import { grantFor } from '../grants.ts';
import { commandCommand, type Facts, infoCommand, REDIS_VERSION } from './about.ts';
import { type Command, type Commands, RespError, type Session } from './command.ts';
import { bulk, integer, list, map, nothing, OK, simple } from './reply.ts';
import { throttleCommands } from './throttle.ts';
import { verbCommands } from './verbs.ts';

type Access = Pick<ListenerOptions, 'tokens' | 'adminTokens' | 'attempts'>;

/** Number of wrong passwords after which a connection is closed. */
const MAX_FAILURES = 3;
/** Milliseconds by which the reply to a wrong password is delayed. */
const FAILURE_DELAY = 500;

export function commandsOf(core: Core, options: ListenerOptions, facts: Facts): Commands {
  const { maxKey, log, tokens, adminTokens, attempts } = options;
  const access = { tokens, adminTokens, attempts };
  const commands = new Map<string, Command>([
    ...throttleCommands(core, maxKey),
    ...verbCommands(core, maxKey, log),
    ['ping', pingCommand],
    ['echo', echoCommand],
    ['hello', helloCommand(access)],
    ['auth', authCommand(access)],
    ['client', clientCommand],
    ['select', selectCommand],
    ['quit', quitCommand],
    ['info', infoCommand(facts)],
  ]);
  return commands.set('command', commandCommand(commands));
}

const pingCommand: Command = {
  summary: 'Returns PONG, or the given message.',
  usage: '[message]',
  arity: [0, 1],
  run: ([, message]) => (message === undefined ? simple('PONG') : bulk(message)),
};

const echoCommand: Command = {
  summary: 'Returns the given message.',
  usage: 'message',
  arity: [1, 1],
  run: ([, message = '']) => bulk(message),
};

const quitCommand: Command = {
  summary: 'Closes the connection.',
  usage: '',
  arity: [0, 100],
  needsNoAuth: true,
  run(_, session) {
    session.isClosing = true;
    return OK;
  },
};

const selectCommand: Command = {
  summary: 'Selects database 0, which is the only database.',
  usage: 'index',
  arity: [1, 1],
  run([, index = '']) {
    if (!/^\d{1,10}$/.test(index)) throw new RespError('ERR', 'invalid database index; must be an integer');
    if (Number(index) !== 0) throw new RespError('ERR', 'invalid database index; the only database is 0');
    return OK;
  },
};

/** Authenticates a session. The password must be a token of this listener or an admin token; the user name is ignored. */
function authenticate(access: Access, password: string, session: Session): void {
  const { attempts } = access;
  if (!hasTokens(access)) return;
  const wait = secondsOf(attempts?.waitOf(session.client) ?? 0);
  if (wait > 0) {
    session.isClosing = true;
    throw new RespError('ERR', `too many failed authentication attempts. Retry in ${wait} s.`);
  }
  const token = Buffer.from(password, 'latin1').toString('utf8');
  const grant = grantFor(token, access);
  if (grant !== undefined) {
    session.isAuthenticated = true;
    session.grant = grant;
    return;
  }
  attempts?.failed(session.client, token);
  if (++session.failures >= MAX_FAILURES) session.isClosing = true;
  throw new RespError('WRONGPASS', 'invalid password', FAILURE_DELAY);
}

function hasTokens({ tokens, adminTokens }: Access): boolean {
  return tokens !== undefined || adminTokens !== undefined;
}

function authCommand(access: Access): Command {
  return {
    summary: 'Authenticates the connection with a token of this listener.',
    usage: '[username] password',
    arity: [1, 2],
    needsNoAuth: true,
    run(words, session) {
      if (!hasTokens(access) && words.length === 2)
        // ioredis recognizes this message, logs a warning and continues.
        throw new RespError('ERR', 'AUTH was called without any password configured for the default user');
      authenticate(access, words.at(-1) ?? '', session);
      return OK;
    },
  };
}

function helloCommand(access: Access): Command {
  return {
    summary: 'Selects the protocol version. Can also authenticate, and set the name of the connection.',
    usage: '[protover] [AUTH username password] [SETNAME name]',
    arity: [0, 6],
    needsNoAuth: true,
    run([, version, ...options], session) {
      if (version !== undefined && version !== '2' && version !== '3')
        throw /^\d+$/.test(version)
          ? new RespError('NOPROTO', 'unsupported protocol version; must be 2 or 3')
          : new RespError('ERR', 'protocol version must be an integer');
      const words = [...options];
      let name: string | undefined;
      while (words.length > 0) {
        const option = words.shift()?.toLowerCase();
        if (option === 'auth' && words.length >= 2) authenticate(access, words.splice(0, 2)[1], session);
        else if (option === 'setname' && words.length >= 1) name = nameOf(words.shift() as string);
        else throw new RespError('ERR', `syntax error in HELLO option '${String(option).slice(0, 40)}'`);
      }
      if (!session.isAuthenticated)
        throw new RespError('NOAUTH', 'Authentication required. HELLO accepts AUTH <username> <password>.');
      if (version !== undefined) session.protocol = version === '3' ? 3 : 2;
      if (name !== undefined) session.name = name;
      return map(session.protocol, [
        ['server', bulk('sluice')],
        ['version', bulk(REDIS_VERSION)],
        ['proto', integer(session.protocol)],
        ['id', integer(session.id)],
        ['mode', bulk('standalone')],
        ['role', bulk('master')],
        ['modules', list([])],
      ]);
    },
  };
}

const clientCommand: Command = {
  summary: 'Returns information about this connection, or sets its name.',
  usage: 'ID | SETNAME name | GETNAME | SETINFO attribute value | INFO',
  arity: [1, 10],
  run([, sub = '', first = '', ...rest], session) {
    switch (sub.toLowerCase()) {
      case 'id':
        return integer(session.id);
      case 'setname':
        session.name = nameOf(first);
        return OK;
      case 'getname':
        return session.name === '' ? nothing(session.protocol) : bulk(session.name);
      case 'setinfo':
        if (rest.length !== 1 || !['lib-name', 'lib-ver'].includes(first.toLowerCase()))
          throw new RespError('ERR', `unrecognized option '${first.slice(0, 40)}'`);
        return OK;
      case 'info':
        return bulk(`id=${session.id} name=${session.name} resp=${session.protocol} db=0\n`);
      // These subcommands are hints for Redis's own eviction, which has no counterpart here.
      case 'no-evict':
      case 'no-touch':
        return OK;
      default:
        throw new RespError(
          'ERR',
          `unknown subcommand '${sub.slice(0, 40)}'; CLIENT accepts ID, SETNAME, GETNAME, SETINFO and INFO`,
        );
    }
  },
};

function nameOf(bytes: string): string {
  if (bytes.length > 200 || !/^[!-~]*$/.test(bytes))
    throw new RespError(
      'ERR',
      'client names must have at most 200 characters, without spaces or control characters',
    );
  return detachedCopy(bytes);
}

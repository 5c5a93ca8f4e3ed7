/** Every command that the RESP door knows. */
import type { Core } from '../core/core.ts';
import { own } from '../core/own.ts';
import type { DoorOptions } from '../door.ts';
import { isToken } from '../http/access.ts';
import { commandCommand, type Facts, infoCommand, REDIS_VERSION } from './resp-about.ts';
import { type Command, type Commands, RespError, type Session } from './resp-command.ts';
import { bulk, integer, list, map, nothing, OK, simple } from './resp-reply.ts';
import { throttleCommands } from './resp-throttle.ts';

type Tokens = DoorOptions['tokens'];

export function commandsOf(core: Core, { maxKey, tokens }: DoorOptions, facts: Facts): Commands {
  const commands = new Map<string, Command>([
    ...throttleCommands(core, maxKey),
    ['ping', pingCommand],
    ['echo', echoCommand],
    ['hello', helloCommand(tokens)],
    ['auth', authCommand(tokens)],
    ['client', clientCommand],
    ['select', selectCommand],
    ['quit', quitCommand],
    ['info', infoCommand(facts)],
  ]);
  return commands.set('command', commandCommand(commands));
}

const pingCommand: Command = {
  summary: 'PONG, or what was said.',
  usage: '[message]',
  arity: [0, 1],
  run: ([, message]) => (message === undefined ? simple('PONG') : bulk(message)),
};

const echoCommand: Command = {
  summary: 'What was said.',
  usage: 'message',
  arity: [1, 1],
  run: ([, message = '']) => bulk(message),
};

const quitCommand: Command = {
  summary: 'Ends the connection.',
  usage: '',
  arity: [0, 100],
  isOpen: true,
  run(_, session) {
    session.isLeaving = true;
    return OK;
  },
};

const selectCommand: Command = {
  summary: 'There is one database: 0.',
  usage: 'index',
  arity: [1, 1],
  run([, index = '']) {
    if (!/^\d{1,10}$/.test(index)) throw new RespError('ERR', 'the index of a database is a whole number');
    if (Number(index) !== 0) throw new RespError('ERR', 'there is only database 0');
    return OK;
  },
};

/** A token is the password; the name of the user does not matter. */
function authenticate(tokens: Tokens, password: string, session: Session): void {
  if (tokens === undefined) return;
  const isRight = isToken(Buffer.from(password, 'latin1').toString('utf8'), tokens());
  if (!isRight) throw new RespError('WRONGPASS', 'that is no password of this server');
  session.isTrusted = true;
}

function authCommand(tokens: Tokens): Command {
  return {
    summary: 'Says the password: a token of this door.',
    usage: '[username] password',
    arity: [1, 2],
    isOpen: true,
    run(words, session) {
      if (tokens === undefined && words.length === 2)
        // In these words ioredis only warns, and goes on.
        throw new RespError('ERR', 'AUTH was called without any password configured for the default user');
      authenticate(tokens, words.at(-1) ?? '', session);
      return OK;
    },
  };
}

function helloCommand(tokens: Tokens): Command {
  return {
    summary: 'Chooses the protocol, and says the password and a name.',
    usage: '[protover] [AUTH username password] [SETNAME name]',
    arity: [0, 6],
    isOpen: true,
    run([, version, ...options], session) {
      if (version !== undefined && version !== '2' && version !== '3')
        throw /^\d+$/.test(version)
          ? new RespError('NOPROTO', 'only protocols 2 and 3 are spoken here')
          : new RespError('ERR', 'the version of the protocol is a whole number');
      const words = [...options];
      let name: string | undefined;
      while (words.length > 0) {
        const option = words.shift()?.toLowerCase();
        if (option === 'auth' && words.length >= 2) authenticate(tokens, words.splice(0, 2)[1], session);
        else if (option === 'setname' && words.length >= 1) name = nameOf(words.shift() as string);
        else throw new RespError('ERR', `syntax error in HELLO option '${String(option).slice(0, 40)}'`);
      }
      if (!session.isTrusted)
        throw new RespError('NOAUTH', 'Authentication required: HELLO may bring it, with AUTH');
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
  summary: 'About this connection.',
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
      // Hints about a cache and evictions that are not there.
      case 'no-evict':
      case 'no-touch':
        return OK;
      default:
        throw new RespError('ERR', `unknown subcommand '${sub.slice(0, 40)}' of CLIENT`);
    }
  },
};

function nameOf(bytes: string): string {
  if (bytes.length > 200 || !/^[!-~]*$/.test(bytes))
    throw new RespError('ERR', 'a name has at most 200 signs, and no space or control sign among them');
  return own(bytes);
}

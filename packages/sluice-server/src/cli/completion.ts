/** sluice completion: prints a script that completes commands and flags in a shell, generated from the tables of flags. */
import { UsageError } from '../config/usage-error.ts';
import { type Flag, readArgs } from './args.ts';
import type { Output } from './check.ts';
import { COMMANDS, SHELLS } from './help.ts';

export function completionCommand(argv: readonly string[], { out }: Output): number {
  const { positionals } = readArgs(argv, {});
  const shell = SHELLS.find((one) => one === positionals[0]);
  if (shell === undefined || positionals.length > 1)
    throw new UsageError(`expected one of ${SHELLS.join(', ')}; got ${positionals.join(' ') || 'nothing'}`);
  out({ bash, zsh, fish }[shell]());
  return 0;
}

/** Whether the value of a flag is a path, which shells complete themselves. */
function isPath({ value = '' }: Flag): boolean {
  return value === 'FILE' || value === 'FOLDER';
}

function bash(): string {
  const cases = Object.entries(COMMANDS).map(([name, { flags, words }]) => {
    const named = (test: (flag: Flag) => boolean): string =>
      Object.entries(flags)
        .filter(([, flag]) => test(flag))
        .map(([flag]) => `--${flag}`)
        .join('|');
    const values = [
      ...Object.entries(flags).flatMap(([flag, { choices }]) =>
        choices === undefined ? [] : [`        --${flag}) words='${choices.join(' ')}' ;;`],
      ),
      ...arm(named(isPath), 'files=1'),
      ...arm(
        named((flag) => flag.value !== undefined && flag.choices === undefined && !isPath(flag)),
        'return',
      ),
    ];
    const list = [...Object.keys(flags).map((flag) => `--${flag}`), '--help', ...(words ?? [])].join(' ');
    const other = `        *) words='${list}'${words === undefined ? ' files=1' : ''} ;;`;
    return [`    *:${name})`, '      case $previous in', ...values, other, '      esac', '      ;;'].join(
      '\n',
    );
  });
  return `# Completion for bash. Load it with: source <(sluice completion bash)
_sluice() {
  local current=\${COMP_WORDS[COMP_CWORD]} previous=\${COMP_WORDS[COMP_CWORD-1]} words='' files=''
  COMPREPLY=()
  case \${COMP_CWORD}:\${COMP_WORDS[1]} in
    1:*) words='${Object.keys(COMMANDS).join(' ')} help version' ;;
${cases.join('\n')}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
  if [[ -n $files ]]; then
    compopt -o filenames 2>/dev/null
    local file
    while IFS= read -r file; do COMPREPLY+=("$file"); done < <(compgen -f -- "$current")
  fi
}
complete -F _sluice sluice
`;
}

/** One arm of a `case` in bash, or nothing if no flag matches. */
function arm(pattern: string, action: string): string[] {
  return pattern === '' ? [] : [`        ${pattern}) ${action} ;;`];
}

function zsh(): string {
  const cases = Object.entries(COMMANDS).map(([name, { flags, words }]) => {
    const specs = Object.entries(flags).map(([flag, { value, many, choices, help, ...rest }]) => {
      const action = choices
        ? `(${choices.join(' ')})`
        : isPath({ value: value ?? '', help, ...rest })
          ? '_files'
          : '';
      const argument = value === undefined ? '' : `:${value}:${action}`;
      return quoted(
        `${many ? '*' : ''}--${flag}${value === undefined ? '' : '='}[${help.replace(/[\\[\]:]/g, '\\$&')}]${argument}`,
      );
    });
    const rest =
      words === undefined ? "'*:file:_files'" : words.length > 0 ? `'1:word:(${words.join(' ')})'` : '';
    return `    ${name}) _arguments ${[...specs, rest].filter(Boolean).join(' ')} ;;`;
  });
  const commands = Object.entries(COMMANDS).map(([name, { summary }]) => quoted(`${name}:${summary}`));
  return `#compdef sluice
# Completion for zsh. Load it with: source <(sluice completion zsh)
_sluice() {
  local -a commands
  commands=(${commands.join(' ')})
  if (( CURRENT == 2 )); then
    _describe command commands
    return
  fi
  shift words
  (( CURRENT-- ))
  case $words[1] in
${cases.join('\n')}
  esac
}
compdef _sluice sluice
`;
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

function fish(): string {
  const inFish = (text: string): string => `'${text.replace(/[\\']/g, '\\$&')}'`;
  const lines = Object.entries(COMMANDS).flatMap(([name, { summary, flags, words }]) => {
    const after = `complete -c sluice -n ${inFish(`__fish_seen_subcommand_from ${name}`)}`;
    return [
      `complete -c sluice -n __fish_use_subcommand -f -a ${name} -d ${inFish(summary)}`,
      ...(words === undefined
        ? []
        : [`${after} -f${words.length > 0 ? ` -a ${inFish(words.join(' '))}` : ''}`]),
      ...Object.entries(flags).map(([flag, given]) => {
        const { choices, value, help } = given;
        const kind = choices
          ? ` -x -a ${inFish(choices.join(' '))}`
          : isPath(given)
            ? ' -r -F'
            : value === undefined
              ? ''
              : ' -x';
        return `${after} -l ${flag}${kind} -d ${inFish(help)}`;
      }),
    ];
  });
  return `# Completion for fish. Load it with: sluice completion fish | source\n${lines.join('\n')}\n`;
}

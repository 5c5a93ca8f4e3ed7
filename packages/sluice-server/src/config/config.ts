/** Reads configuration files and parses them, or reports everything that is wrong with them. */
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { readLevel, pathWord } from './descriptors.ts';
import { readLimit } from './limits.ts';
import { type Config, ConfigError, type Domain, type Fault, type LimitConfig } from './model.ts';
import { Source, type Value } from './value.ts';

/** The content of a configuration file. */
export interface ConfigFile {
  /** Path of the file, for error messages. */
  readonly file: string;
  /** Content of the file, in YAML. */
  readonly text: string;
}

/**
 * Reads configuration files. For a folder, reads its .yaml and .yml files in alphabetical order. Throws a ConfigError if a path
 * cannot be read.
 */
export function readFiles(paths: readonly string[]): ConfigFile[] {
  const files = paths.flatMap((path) => {
    try {
      if (!statSync(path).isDirectory()) return [{ file: path, text: readFileSync(path, 'utf8') }];
      return readdirSync(path)
        .filter((name) => /^[^.].*\.ya?ml$/.test(name))
        .sort()
        .map((name) => ({ file: join(path, name), text: readFileSync(join(path, name), 'utf8') }));
    } catch (error) {
      throw new ConfigError([
        { file: path, line: 1, column: 1, message: `cannot be read: ${reason(error)}` },
      ]);
    }
  });
  if (files.length === 0 && paths.length > 0)
    throw new ConfigError(
      paths.map((file) => ({
        file,
        line: 1,
        column: 1,
        message: 'the folder contains no .yaml or .yml file',
      })),
    );
  return files;
}

function reason(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** How configuration files are combined. */
export interface ConfigOptions {
  /**
   * Whether several files, or documents of one file, may define the same domain. Their descriptors are merged, and a descriptor
   * that is defined twice is a fault. Default false: a domain that is defined twice is a fault.
   */
  readonly mergeDomains?: boolean | undefined;
}

/**
 * Reads and parses configuration files, or folders of configuration files. Throws a ConfigError that lists all faults of all
 * files.
 */
export function loadConfig(paths: readonly string[], options?: ConfigOptions): Config {
  return parseConfig(readFiles(paths), options);
}

/** Parses configuration files that were already read. Throws a ConfigError that lists all faults of all files. */
export function parseConfig(files: readonly ConfigFile[], options: ConfigOptions = {}): Config {
  const limits = new Map<string, LimitConfig>();
  const domains = new Map<string, Domain>();
  const faults: Fault[] = [];
  if (files.length === 0)
    faults.push({ file: '.', line: 1, column: 1, message: 'no .yaml or .yml file found' });
  for (const { file, text } of files) {
    const source = new Source(file);
    const documents = source.documents(text);
    // A file that an editor has just truncated must not remove all limits.
    if (documents.length === 0 && source.faults.length === 0) source.fault(0, 'the file is empty');
    for (const document of documents) readDocument(document, limits, domains, options);
    faults.push(...source.faults);
  }
  if (faults.length > 0) throw new ConfigError(faults);
  return { limits, domains };
}

function readDocument(
  document: Value,
  limits: Map<string, LimitConfig>,
  domains: Map<string, Domain>,
  options: ConfigOptions,
): void {
  const members = document.members('a configuration', ['limits', 'domain', 'descriptors']);
  if (!document.isMap) return;
  const own = members.get('limits');
  const name = members.get('domain');
  const descriptors = members.get('descriptors');
  if (own === undefined && name === undefined) document.fault('a document must have limits or a domain');
  if (own !== undefined && !own.isEmpty) readLimits(own, limits);
  if (name !== undefined) readDomain(name, descriptors, domains, options);
  else descriptors?.fault('descriptors require a domain in the same document');
}

function readDomain(
  value: Value,
  descriptors: Value | undefined,
  domains: Map<string, Domain>,
  { mergeDomains = false }: ConfigOptions,
): void {
  const name = value.text('domain');
  if (name === undefined) return;
  const known = domains.get(name);
  const into = mergeDomains ? known?.level : undefined;
  const level = readLevel(descriptors, { path: pathWord(name), label: name }, into);
  if (name === '') value.fault('domain must not be empty');
  else if (known !== undefined && into === undefined)
    value.fault(
      `domain ${JSON.stringify(name)} is already defined; use --merge-domains to merge its descriptors`,
    );
  else domains.set(name, { name, level });
}

function readLimits(value: Value, limits: Map<string, LimitConfig>): void {
  for (const [name, member] of value.members('limits')) {
    const limit = readLimit(name, member);
    if (limit === undefined) continue;
    if (limits.has(name)) member.fault(`limit ${JSON.stringify(name)} is already defined`);
    else limits.set(name, limit);
  }
}

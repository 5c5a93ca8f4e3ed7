/** Wraps parsed YAML in values that know their position in the file, so that errors can point to that position. */
import {
  type Document,
  isAlias,
  isMap,
  isScalar,
  LineCounter,
  isSeq,
  type Node,
  type Pair,
  parseAllDocuments,
  type ParsedNode,
  visit,
  type YAMLMap,
} from 'yaml';
import type { Fault } from './model.ts';

/**
 * Maximum number of values in a file. Without this maximum, aliases that repeat other aliases could expand a small file
 * exponentially.
 */
const MAX_VALUES = 500_000;
const MAX_DEPTH = 100;
const MAX_TEXT = 16 * 1024 * 1024;

export class Source {
  readonly file: string;
  readonly faults: Fault[] = [];
  private readonly lines = new LineCounter();
  private count = 0;

  constructor(file: string) {
    this.file = file;
  }

  /** Parses a file into its non-empty documents. YAML syntax errors are reported as faults. */
  documents(text: string): Value[] {
    if (text.length > MAX_TEXT) {
      this.fault(0, `the file has more than ${MAX_TEXT} characters`);
      return [];
    }
    try {
      const parsed = parseAllDocuments(text, {
        lineCounter: this.lines,
        prettyErrors: false,
        strict: true,
        stringKeys: false,
        logLevel: 'silent',
        // The YAML library's own check for duplicate keys takes quadratic time, which is several seconds for 10,000 limits.
        // `scanDocument` finds duplicates instead.
        uniqueKeys: false,
      });
      const documents = 'empty' in parsed ? [] : parsed;
      for (const { errors } of documents)
        for (const error of errors) this.fault(error.pos[0], firstLine(error));
      return documents
        .filter(({ errors, contents }) => errors.length === 0 && contents !== null)
        .flatMap((document) => this.valueOf(document) ?? []);
    } catch (error) {
      // The parser itself may throw. For example, thousands of nested brackets overflow its stack.
      this.fault(0, `cannot be parsed: ${error instanceof Error ? firstLine(error) : String(error)}`);
      return [];
    }
  }

  /** Converts a document. Returns undefined if it reported a fault. */
  private valueOf(document: Document.Parsed): Value | undefined {
    const { targets, duplicates } = scanDocument(document);
    for (const offset of duplicates) this.fault(offset, 'map keys must be unique');
    return duplicates.length > 0 ? undefined : new Value(this, targets, document.contents, 0, 0);
  }

  fault(offset: number, message: string): void {
    const { line, col } = this.lines.linePos(offset);
    this.faults.push({ file: this.file, line: Math.max(line, 1), column: Math.max(col, 1), message });
  }

  /** Counts a value toward the file's maximum. Returns false if the file has too many values or too many levels. */
  admit(offset: number, depth: number): boolean {
    if (++this.count === MAX_VALUES) this.fault(offset, `the file has more than ${MAX_VALUES} values`);
    if (depth === MAX_DEPTH && this.count < MAX_VALUES)
      this.fault(offset, `the file has more than ${MAX_DEPTH} levels`);
    return this.count < MAX_VALUES && depth < MAX_DEPTH;
  }
}

/** The node that each alias refers to. */
type Targets = ReadonlyMap<unknown, Node>;

/**
 * Finds, in a single pass, the node that each alias refers to (the nearest preceding anchor of that name) and the offsets of
 * duplicate map keys.
 */
function scanDocument(document: Document.Parsed): { targets: Targets; duplicates: readonly number[] } {
  const anchors = new Map<string, Node>();
  const targets = new Map<unknown, Node>();
  const duplicates: number[] = [];
  visit(document, {
    Node(_, node) {
      if (isAlias(node)) {
        const target = anchors.get(node.source);
        if (target !== undefined) targets.set(node, target);
        return;
      }
      if (node.anchor !== undefined) anchors.set(node.anchor, node);
      if (isMap(node)) duplicates.push(...duplicatesIn(node));
    },
  });
  return { targets, duplicates };
}

/** Offsets of map keys that repeat an earlier key of the same map. */
function duplicatesIn({ items }: YAMLMap): number[] {
  const seen = new Set<unknown>();
  return items.flatMap(({ key }) => {
    if (!isScalar(key)) return [];
    const isNew = !seen.has(key.value);
    seen.add(key.value);
    return isNew ? [] : [key.range?.[0] ?? 0];
  });
}

function firstLine({ message }: Error): string {
  return message.split('\n')[0] ?? '';
}

export class Value {
  private readonly source: Source;
  private readonly targets: Targets;
  /** The parsed node. Undefined for a missing value or an alias without an anchor. */
  private readonly node: Node | undefined;
  private readonly offset: number;
  private readonly depth: number;

  /** The key of this value, if it is a member of a map. */
  readonly name: Value | undefined;

  constructor(source: Source, targets: Targets, node: unknown, offset: number, depth: number, name?: Value) {
    const given = (node ?? undefined) as ParsedNode | undefined;
    this.source = source;
    this.targets = targets;
    this.name = name;
    this.offset = given?.range?.[0] ?? offset;
    this.depth = depth;
    const target = isAlias(given) ? targets.get(given) : given;
    this.node = source.admit(this.offset, depth) ? target : undefined;
  }

  fault(message: string): undefined {
    this.source.fault(this.offset, message);
  }

  get isMap(): boolean {
    return isMap(this.node);
  }

  get isList(): boolean {
    return isSeq(this.node);
  }

  /** True for a missing value and for null. */
  get isEmpty(): boolean {
    return this.node === undefined || (isScalar(this.node) && this.node.value === null);
  }

  /** The JavaScript value of a scalar. */
  get plain(): unknown {
    return isScalar(this.node) ? this.node.value : this.node === undefined ? null : this.node;
  }

  /** The text of a scalar. Numbers and booleans are returned as they were written. */
  text(what: string): string | undefined {
    const { node } = this;
    if (isScalar(node)) {
      if (typeof node.value === 'string') return node.value;
      if (['number', 'boolean', 'bigint'].includes(typeof node.value))
        return node.source ?? String(node.value);
    }
    return this.fault(`${what} must be a string; got ${this.kind}`);
  }

  boolean(what: string): boolean | undefined {
    const { plain } = this;
    return typeof plain === 'boolean' ? plain : this.fault(`${what} must be true or false; got ${this.kind}`);
  }

  integer(what: string, least: number, most: number): number | undefined {
    const { plain } = this;
    if (typeof plain === 'number' && Number.isInteger(plain) && plain >= least && plain <= most) return plain;
    return this.fault(`${what} must be an integer from ${least} to ${most}; got ${this.kind}`);
  }

  list(what: string): Value[] {
    if (!isSeq(this.node)) {
      this.fault(`${what} must be a list; got ${this.kind}`);
      return [];
    }
    return this.node.items.map((item) => this.child(item, this.offset));
  }

  /** The members of a map. If `names` is given, any other name is reported as a fault. */
  members(what: string, names?: readonly string[]): Map<string, Value> {
    const members = new Map<string, Value>();
    if (!isMap(this.node)) {
      this.fault(`${what} must be a map; got ${this.kind}`);
      return members;
    }
    for (const pair of this.node.items) this.addMember(members, pair, what, names);
    return members;
  }

  /** Converts the value, including all nested values, to JSON data. */
  json(what: string): unknown {
    if (this.isList) return this.list(what).map((item) => item.json(what));
    // Object.fromEntries defines properties instead of assigning them, which is safe for a member named __proto__.
    if (this.isMap)
      return Object.fromEntries([...this.members(what)].map(([name, member]) => [name, member.json(what)]));
    const { plain } = this;
    if (plain === null || typeof plain === 'string' || typeof plain === 'boolean') return plain;
    if (typeof plain === 'number' && Number.isFinite(plain)) return plain;
    return this.fault(`values in ${what} must be JSON values; got ${this.kind}`);
  }

  private addMember(members: Map<string, Value>, pair: Pair, what: string, names?: readonly string[]): void {
    const key = this.child(pair.key, this.offset);
    const value = this.child(pair.value, key.offset, key);
    const name = key.plain;
    if (name === '<<') this.merge(members, value, what, names);
    else if (typeof name !== 'string') {
      key.fault(`names in ${what} must be strings; got ${key.kind}`);
    } else if (names !== undefined && !names.includes(name)) {
      key.fault(`unknown name ${JSON.stringify(name)} in ${what}; must be one of ${names.join(', ')}`);
    } else members.set(name, value);
  }

  /** Merges another map, for the YAML syntax `<<: *defaults`. Members of the map itself take precedence. */
  private merge(members: Map<string, Value>, from: Value, what: string, names?: readonly string[]): void {
    for (const one of from.isList ? from.list('<<') : [from]) {
      for (const [name, value] of one.members(what, names)) if (!members.has(name)) members.set(name, value);
    }
  }

  private child(node: unknown, offset: number, name?: Value): Value {
    return new Value(this.source, this.targets, node, offset, this.depth + 1, name);
  }

  /** Description of the value for error messages. */
  get kind(): string {
    if (this.isMap) return 'a map';
    if (this.isList) return 'a list';
    if (this.isEmpty) return 'nothing';
    const text = JSON.stringify(this.plain) ?? String(this.plain);
    return text.length > 60 ? `${text.slice(0, 60)}…` : text;
  }
}

/**
 * A prepared statement in a form that a pg client runs directly, without one of pg's own query objects. pg's own queries ask the
 * server to describe the columns each time they run. A prepared statement always has the same columns, so this object does not ask
 * for a description.
 */
import type { Reply, Statement } from './client.ts';

type Callback = (error: unknown, result?: { readonly rows: readonly Reply[] }) => void;

interface Submitted {
  /** Set by pg. */
  callback: Callback | undefined;
}

/** The part of pg's connection that sends a prepared statement. */
interface Connection {
  readonly stream: { cork?(): void; uncork?(): void };
  readonly parsedStatements: Readonly<Record<string, string | undefined>>;
  /** Missing in earlier versions of pg 8. */
  readonly submittedNamedStatements?: Record<string, string | undefined>;
  parse(statement: { readonly name: string; readonly text: string }): void;
  bind(values: { readonly statement: string; readonly values: readonly (string | Uint8Array)[] }): void;
  execute(): void;
  sync(): void;
}

/** The members of a `Pool` or `Client` that show whether it accepts such a statement. */
interface Accepting {
  /** The class of a pool's clients. */
  readonly Client?: { readonly Query?: { readonly prototype?: object } };
  readonly options?: { readonly pipeline?: unknown };
  readonly pipeline?: unknown;
}

/**
 * Whether a pg client accepts the statements of this file. A client that is built on libpq does not accept them, and neither does
 * a client in pipeline mode.
 */
export function acceptsStatements(client: object): boolean {
  const { Client, options, pipeline } = client as Accepting;
  const { Query } = Client ?? (client.constructor as NonNullable<Accepting['Client']>);
  return Boolean(Query?.prototype && 'hasBeenParsed' in Query.prototype && !options?.pipeline && !pipeline);
}

/** How the text of each column is parsed. Columns that are not listed are numbers. */
const PARSERS: Readonly<Record<string, (text: string) => unknown>> = {
  value: bytesIn,
  version: (text) => text,
};

/** Reads a bytea in the hexadecimal format, or in the escape format if the server's `bytea_output` says so. */
function bytesIn(text: string): Buffer {
  if (text.startsWith('\\x')) return Buffer.from(text.slice(2), 'hex');
  const unescaped = text.replace(/\\(\\|[0-7]{3})/g, (_, code: string) =>
    code === '\\' ? code : String.fromCharCode(Number.parseInt(code, 8)),
  );
  return Buffer.from(unescaped, 'latin1');
}

/** Creates an object that pg runs once, with these values, by calling its methods. */
export function pgStatement(name: string, { text, columns }: Statement, values: readonly unknown[]): object {
  const rows: Reply[] = [];
  const submitted: Submitted = { callback: undefined };
  return Object.assign(submitted, {
    name,
    text,
    submit(connection: Connection): void {
      const { stream, parsedStatements, submittedNamedStatements = {} } = connection;
      stream.cork?.();
      try {
        if ((parsedStatements[name] ?? submittedNamedStatements[name]) === undefined) {
          connection.parse({ name, text });
          submittedNamedStatements[name] = text;
        }
        connection.bind({ statement: name, values: values.map(parameter) });
        connection.execute();
        connection.sync();
      } finally {
        stream.uncork?.();
      }
    },
    handleDataRow({ fields }: { readonly fields: readonly (string | null)[] }): void {
      const row: Record<string, unknown> = {};
      for (let i = 0; i < columns.length; i++) {
        const field = fields[i];
        row[columns[i]] = field === null ? null : (PARSERS[columns[i]] ?? Number)(field);
      }
      rows.push(row);
    },
    handleError(error: unknown): void {
      submitted.callback?.(error);
    },
    handleReadyForQuery(): void {
      submitted.callback?.(null, { rows });
    },
    handleRowDescription(): void {},
    handleCommandComplete(): void {},
    handleEmptyQuery(): void {},
    handlePortalSuspended(): void {},
  });
}

/** A parameter in the form that pg sends: bytes as they are, anything else as text. */
function parameter(value: unknown): string | Uint8Array {
  if (!(value instanceof Uint8Array)) return String(value);
  return Buffer.isBuffer(value) ? value : Buffer.from(value.buffer, value.byteOffset, value.byteLength);
}

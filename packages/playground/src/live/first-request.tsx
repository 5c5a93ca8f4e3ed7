/** Says how to get traffic while there is none. */
import { askable, isAdmin, token } from './watch.ts';

export function FirstRequest() {
  if (isAdmin.value) return <> Send sample traffic to see the limits at work.</>;
  const [limit] = askable.value;
  if (limit === undefined) return null;
  return (
    <>
      {' '}
      Send one to see a limit at work:
      <code class="command">{curlFor(limit)}</code>
      To let this page send sample traffic, start the server with <code>--allow-admin-without-token</code>, or
      enter an admin token.
    </>
  );
}

/** The command that takes one unit of the limit from this server. */
function curlFor(limit: string): string {
  const body = JSON.stringify({ limit, key: 'alice' }).replaceAll("'", String.raw`'\''`);
  // The token itself must not be visible on the screen.
  const header = token.value === '' ? '' : '-H "Authorization: Bearer $SLUICE_HTTP_TOKEN" ';
  return `curl ${header}-d '${body}' ${new URL('v1/take', location.href).href}`;
}

/** Sends requests over keep-alive connections. Each connection sends its next request once the previous one is answered. */
import { connect } from 'node:net';

const REQUEST = 'GET / HTTP/1.1\r\nHost: localhost\r\n\r\n';
const END = '\r\n\r\n';

/** Sends all requests. Resolves with the head of the last answer once all answers have arrived. */
export async function load(port, { requests, connections }) {
  let left = requests;
  const next = () => left-- > 0;
  const heads = await Promise.all(Array.from({ length: connections }, () => one(port, next)));
  return heads.findLast((head) => head !== '');
}

function one(port, next) {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1');
    let head = '';
    let text = '';
    const ask = () => (next() ? socket.write(REQUEST) : socket.end(() => resolve(head)));
    socket.setNoDelay().setEncoding('latin1').once('connect', ask).once('error', reject);
    socket.on('data', (chunk) => {
      text += chunk;
      const end = text.indexOf(END);
      if (end < 0) return;
      const [, length] = /content-length: (\d+)/i.exec(text.slice(0, end)) ?? [];
      const chunked = length === undefined;
      if (chunked ? !text.endsWith(`0${END}`) : text.length < end + END.length + Number(length)) return;
      head = text.slice(0, end);
      text = '';
      if (!head.startsWith('HTTP/1.1 200')) reject(new Error(head.split('\r\n', 1)[0]));
      ask();
    });
  });
}

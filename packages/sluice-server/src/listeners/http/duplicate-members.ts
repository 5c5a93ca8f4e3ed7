/**
 * Finds members that occur twice in a JSON object. `JSON.parse` keeps the last one, so a program that inserts text into a template
 * without escaping it would let its users replace other members, such as the limit.
 */

/** The name of a member that occurs twice in an object. `json` must be valid, and `value` is its parsed value. */
export function duplicateMember(json: string, value: unknown): string | undefined {
  return colonsIn(json) === membersOf(value) ? undefined : findDuplicate(json);
}

/** Counts the colons outside of strings, which is the number of members in the text. */
function colonsIn(json: string): number {
  let count = 0;
  for (let i = 0; i < json.length; i++) {
    const code = json.charCodeAt(i);
    if (code === COLON) count++;
    else if (code === QUOTE) i = endOfString(json, i);
  }
  return count;
}

/** The position of the closing quote of the string that starts at `start`. */
function endOfString(json: string, start: number): number {
  let i = start + 1;
  for (; json.charCodeAt(i) !== QUOTE; i++) if (json.charCodeAt(i) === BACKSLASH) i++;
  return i;
}

/** Counts the members of all objects in the value. Duplicates count once. The stack replaces recursion, which could overflow. */
function membersOf(value: unknown): number {
  let count = 0;
  const stack = [value];
  while (stack.length > 0) {
    const next = stack.pop();
    if (typeof next !== 'object' || next === null) continue;
    const parts: unknown[] = Object.values(next);
    if (!Array.isArray(next)) count += parts.length;
    for (const part of parts) if (typeof part === 'object') stack.push(part);
  }
  return count;
}

function findDuplicate(json: string): string | undefined {
  /** The names seen so far in each open object. Arrays have an empty set. */
  const open: Set<string>[] = [];
  let text = '';
  for (let i = 0; i < json.length; i++) {
    const character = json[i];
    if (character === '"') {
      const end = endOfString(json, i);
      text = json.slice(i, end + 1);
      i = end;
    } else if (character === '{' || character === '[') open.push(new Set());
    else if (character === '}' || character === ']') open.pop();
    else if (character === ':') {
      const name = JSON.parse(text) as string;
      const names = open.at(-1);
      if (names?.has(name)) return name;
      names?.add(name);
    }
  }
  return undefined;
}

const [QUOTE, COLON, BACKSLASH] = [0x22, 0x3a, 0x5c];

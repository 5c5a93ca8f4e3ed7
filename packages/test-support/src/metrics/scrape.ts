/** Parses Prometheus's text format. Throws for anything that the grammar of the format does not allow. */

export interface Scraped {
  readonly type: string;
  readonly help: string;
  /** Values by name and labels, such as `a_total{x="1"}`. Labels are in the order of the text. */
  readonly samples: ReadonlyMap<string, number>;
}

const HELP = /^# HELP ([a-zA-Z_:][a-zA-Z0-9_:]*) (.*)$/s;
const TYPE = /^# TYPE ([a-zA-Z_:][a-zA-Z0-9_:]*) (counter|gauge|histogram|summary|untyped)$/;
const SAMPLE = /^([a-zA-Z_:][a-zA-Z0-9_:]*)(\{.*\})? (\+Inf|-Inf|NaN|-?\d+(?:\.\d+)?(?:e[+-]?\d+)?)$/s;
const LABEL = /([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\\\|\\"|\\n)*)"/y;

export function scrape(text: string): Map<string, Scraped> {
  const families = new Map<string, { type: string; help: string; samples: Map<string, number> }>();
  if (!text.endsWith('\n')) throw new Error('the last line has no line break');
  let help: string[] = [];
  let current: string | undefined;
  for (const line of text.slice(0, -1).split('\n')) {
    const [, helped, words] = HELP.exec(line) ?? [];
    const [, typed, type = ''] = TYPE.exec(line) ?? [];
    if (helped !== undefined) help = [helped, words ?? ''];
    else if (typed !== undefined) {
      if (families.has(typed)) throw new Error(`metric declared twice: ${typed}`);
      if (help[0] !== typed) throw new Error(`TYPE without HELP: ${typed}`);
      families.set(typed, { type, help: help[1] ?? '', samples: new Map() });
      current = typed;
    } else {
      const [, name = '', labels = '', value] = SAMPLE.exec(line) ?? [];
      const family = families.get(current ?? '');
      if (value === undefined || family === undefined) throw new Error(`invalid line: ${line}`);
      const suffix = name.slice(current?.length);
      const suffixes = family.type === 'histogram' ? ['_bucket', '_sum', '_count'] : [''];
      if (!name.startsWith(current ?? '') || !suffixes.includes(suffix))
        throw new Error(`${name} is not part of the metric ${current}`);
      const id = name + readLabels(labels);
      if (family.samples.has(id)) throw new Error(`sample occurs twice: ${id}`);
      family.samples.set(id, value === '+Inf' ? Infinity : Number(value));
    }
  }
  for (const [name, { type, samples }] of families) if (type === 'histogram') checkBuckets(name, samples);
  return families;
}

/** Returns the text of the labels if it is well formed, and throws otherwise. */
function readLabels(text: string): string {
  if (text === '') return '';
  const names = new Set<string>();
  LABEL.lastIndex = 1;
  for (;;) {
    const at = LABEL.lastIndex;
    const found = LABEL.exec(text);
    if (found === null) throw new Error(`invalid labels at ${at}: ${text}`);
    if (names.has(found[1] ?? '')) throw new Error(`a label occurs twice: ${text}`);
    names.add(found[1] ?? '');
    const next = text[LABEL.lastIndex++];
    if (next === '}' && LABEL.lastIndex === text.length) return text;
    if (next !== ',') throw new Error(`invalid labels at ${LABEL.lastIndex}: ${text}`);
  }
}

/**
 * Checks that the bucket counts of each histogram never decrease, and that the last bucket, which has no bound, equals the
 * histogram's count.
 */
function checkBuckets(name: string, samples: ReadonlyMap<string, number>): void {
  const last = new Map<string, { bound: number; count: number }>();
  for (const [id, count] of samples) {
    const [, labels = '', le = ''] =
      new RegExp(`^${name}_bucket\\{(.*?),?le="([^"]*)"\\}$`, 's').exec(id) ?? [];
    if (le === '') continue;
    const bound = le === '+Inf' ? Infinity : Number(le);
    const before = last.get(labels) ?? { bound: -Infinity, count: 0 };
    if (!(bound > before.bound) || count < before.count) throw new Error(`buckets decrease: ${id}`);
    last.set(labels, { bound, count });
  }
  for (const [labels, { bound, count }] of last) {
    const total = samples.get(`${name}_count${labels === '' ? '' : `{${labels}}`}`);
    if (bound !== Infinity || total !== count)
      throw new Error(`${name}{${labels}} has no +Inf bucket that equals its count`);
  }
}

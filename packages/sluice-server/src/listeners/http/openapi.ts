/** GET /openapi.json: what the HTTP listener understands, for machines. */
import { VERSION } from '../../version.ts';

const text = { type: 'string' };
const number = { type: 'number' };
const key = { type: 'string', description: 'Whom the limit counts.' };
const limit = { type: 'string', description: 'The name of a limit in the configuration.' };
const cost = { type: 'number', minimum: 0, maximum: 2 ** 53, default: 1, description: '0 only asks.' };
const tier = { type: 'string', description: 'Other policies, by their name in the configuration.' };
const mode = {
  enum: ['whole', 'partial', 'always'],
  description: 'Default: as the configuration says, else whole.',
};
const duration = {
  description: "Milliseconds, or text such as '10m'.",
  oneOf: [{ type: 'number', exclusiveMinimum: 0 }, { type: 'string' }],
};
const span = { type: ['number', 'null'], description: 'Milliseconds; null: never, or without bound.' };
const units = { type: ['number', 'null'], description: 'null: without bound.' };

const POLICY_STATE = object({
  name: text,
  limit: units,
  window: span,
  remaining: units,
  retryAfter: span,
  resetAfter: span,
  refill: {
    description:
      'When there is more than remaining. even: a unit after each window / limit. whole: all after resetAfter. Otherwise milliseconds; null: never.',
    oneOf: [{ enum: ['even', 'whole'] }, { type: ['number', 'null'] }],
  },
});

const DECISION = object(
  {
    allowed: { type: 'boolean' },
    taken: { ...number, description: 'What was charged.' },
    limit: { ...units, description: 'This and the next three: of the policy that binds.' },
    remaining: units,
    retryAfter: span,
    resetAfter: span,
    policy: text,
    policies: { type: 'array', items: ref('PolicyState') },
    source: { enum: ['store', 'deny-cache', 'lease', 'fallback'] },
    shadowed: { const: true, description: 'Would have been denied, but for shadow mode.' },
  },
  ['shadowed'],
);

const PROBLEM = object(
  { type: text, title: text, status: { type: 'integer' }, detail: text },
  ['detail'],
  true,
);

const HEADERS = Object.fromEntries(
  ['RateLimit-Policy', 'RateLimit', 'Retry-After'].map((name) => [name, { schema: text }]),
);

const VERBS = {
  take: [
    'Charge a key, if its limit allows',
    object({ limit, key, cost, tier, mode }, ['cost', 'tier', 'mode']),
  ],
  peek: ['The same answer, nothing charged', object({ limit, key, cost, tier }, ['cost', 'tier'])],
  refund: ['Give back; never above full', object({ limit, key, cost, tier }, ['cost', 'tier'])],
  block: ['Deny a key for a while', object({ limit, key, duration })],
  reset: ['As if the key had never been seen', object({ limit, key })],
} as const;

function object(properties: object, optional: readonly string[] = [], isOpen = false): object {
  const required = Object.keys(properties).filter((name) => !optional.includes(name));
  return { type: 'object', properties, required, ...(!isOpen && { additionalProperties: false }) };
}

function ref(name: string): object {
  return { $ref: `#/components/schemas/${name}` };
}

function content(schema: object, type = 'application/json'): object {
  return { content: { [type]: { schema } } };
}

const refusals = Object.fromEntries(
  ['400', '401', '403', '404', '413', '503'].map((status) => [
    status,
    { description: 'Refused.', ...content(ref('Problem'), 'application/problem+json') },
  ]),
);

function verbPath(verb: keyof typeof VERBS): object {
  const [summary, question] = VERBS[verb];
  const both = (one: object) => ({ oneOf: [one, { type: 'array', items: one }] });
  const answer = {
    description: 'The decision; for a list, one for each question, in order.',
    ...content({
      oneOf: [ref('Decision'), { type: 'array', items: { oneOf: [ref('Decision'), ref('Problem')] } }],
    }),
    ...(verb === 'take' && { headers: HEADERS }),
  };
  const status = { name: 'status', in: 'query', schema: { enum: ['429'] } };
  return {
    post: {
      operationId: verb,
      summary,
      ...(verb === 'take' && {
        parameters: [{ ...status, description: 'Answer a denied take with this status instead of 200.' }],
      }),
      requestBody: { required: true, ...content(both(question)) },
      responses: {
        200: answer,
        ...(verb === 'take' && { 429: { ...answer, description: 'Denied, if status=429 was asked for.' } }),
        ...refusals,
      },
    },
  };
}

function get(operationId: string, summary: string, type: string, isOpen = false): object {
  return {
    get: {
      operationId,
      summary,
      responses: { 200: { description: summary, ...content(type === 'application/json' ? {} : text, type) } },
      ...(isOpen && { security: [] }),
    },
  };
}

const ENTRY = object({ key: text, value: text }, ['value']);
const OVERRIDE = object({ requestsPerUnit: { type: 'integer', minimum: 0 }, unit: text });
const DESCRIPTOR = object(
  {
    entries: { type: 'array', items: ENTRY, minItems: 1 },
    limit: OVERRIDE,
    hitsAddend: { type: 'integer', minimum: 0 },
    isNegativeHits: { type: 'boolean' },
  },
  ['limit', 'hitsAddend', 'isNegativeHits'],
);
const SHOULD_RATE_LIMIT = object(
  {
    domain: text,
    descriptors: { type: 'array', items: DESCRIPTOR, minItems: 1 },
    hitsAddend: { type: 'integer', minimum: 0 },
  },
  ['hitsAddend'],
);

export const OPENAPI: string = JSON.stringify({
  openapi: '3.1.0',
  info: { title: 'Sluice', version: VERSION, description: 'Rate limits, decided by name and key.' },
  security: [{}, { bearer: [] }],
  paths: {
    ...Object.fromEntries(
      (Object.keys(VERBS) as (keyof typeof VERBS)[]).map((verb) => [`/v1/${verb}`, verbPath(verb)]),
    ),
    '/v1/limits': get('limits', 'The limits that are loaded', 'application/json'),
    '/json': {
      post: {
        operationId: 'shouldRateLimit',
        summary: "Envoy's ShouldRateLimit as JSON",
        requestBody: { required: true, ...content(SHOULD_RATE_LIMIT) },
        responses: {
          200: { description: 'Pass.', ...content({ type: 'object' }) },
          429: { description: 'Over a limit.', ...content({ type: 'object' }) },
          ...refusals,
        },
      },
    },
    '/rlconfig': get('rlconfig', 'The configuration, a line per limit', 'text/plain'),
    '/healthcheck': get('healthcheck', 'Whether to send requests here', 'text/plain', true),
    '/metrics': get('metrics', 'For Prometheus', 'text/plain'),
    '/live': get('live', 'What the page shows, as server-sent events', 'text/event-stream'),
    '/openapi.json': get('openapi', 'This document', 'application/json', true),
  },
  components: {
    schemas: { Decision: DECISION, PolicyState: POLICY_STATE, Problem: PROBLEM },
    securitySchemes: { bearer: { type: 'http', scheme: 'bearer' } },
  },
});

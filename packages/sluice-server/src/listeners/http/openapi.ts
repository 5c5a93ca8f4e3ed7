/** Handles GET /openapi.json, which describes the HTTP API as an OpenAPI document. */
import { VERSION } from '../../version.ts';
import { HITS_PATH } from './openapi-hits.ts';
import { V1_VERBS, type Verb } from './operations.ts';

const text = { type: 'string' };
const number = { type: 'number' };
const key = {
  type: 'string',
  minLength: 1,
  description: 'Identifies the user or resource to limit, for example by a user ID.',
};
const limit = { type: 'string', description: 'The name of a limit in the configuration.' };
const policies = {
  type: 'string',
  maxLength: 200,
  description:
    "Policies as text, such as '10/s burst 20', instead of the name of a limit. Accepted only if the server was started with --request-policies.",
};
const cost = byPolicy({
  default: 1,
  description:
    'Number of units, or an object with a number of units for each policy name. In a take, 0 checks without charging, and a policy that the object does not name is charged 1 unit. In a refund, a policy that the object does not name gets nothing back.',
});
const charged = byPolicy({ description: 'The number of units that the take charged.' });
const used = byPolicy({
  description: 'The units that were really used. A policy that the object does not name keeps its charge.',
});
const keep = byPolicy({
  description:
    'How much of each policy must still be free after the take. A number below 1 is a fraction of the limit, and a whole number is a number of units.',
});
const className = { type: 'string', description: 'Name of a class in the configuration.' };
const at = { type: 'number', description: 'The field `at` of the decision that made the charge.' };
const tier = { type: 'string', description: 'Name of a tier in the configuration.' };
const mode = {
  enum: ['whole', 'partial', 'always'],
  description:
    'How to charge a cost that exceeds the remaining units: `whole` charges nothing, `partial` charges as many whole units as remain, and `always` charges the cost although the take is denied. Default: the mode in the configuration.',
};
const duration = {
  description: "Milliseconds, or a string such as '10m'.",
  oneOf: [{ type: 'number', exclusiveMinimum: 0 }, { type: 'string' }],
};
const maxDelay = {
  ...duration,
  description:
    "The longest delay to accept, in milliseconds or as a string such as '10s'. Default and maximum: the longest window of the limit.",
};
const time = { type: ['number', 'null'], description: 'Milliseconds; null means never, or unlimited.' };
const units = { type: ['number', 'null'], description: 'null means unlimited.' };

const POLICY_STATE = object({
  name: text,
  limit: units,
  window: time,
  remaining: units,
  retryAfter: time,
  resetAfter: time,
  taken: { ...number, description: 'Number of units that this policy was charged.' },
  refill: {
    description:
      'When more units than `remaining` become available. With `even`, one unit is replenished every `window` / `limit`. With `whole`, all units are replenished after `resetAfter`. A number is the time until the next unit in milliseconds, and null means never.',
    oneOf: [{ enum: ['even', 'whole'] }, { type: ['number', 'null'] }],
  },
});

const DECISION_MEMBERS = {
  allowed: { type: 'boolean' },
  taken: {
    ...number,
    description:
      'Number of units that were charged. If the policies were charged different numbers of units, this is the largest of them.',
  },
  limit: {
    ...units,
    description:
      'The limit of the limiting policy, which `policy` names. `remaining`, `retryAfter` and `resetAfter` are also those of this policy.',
  },
  remaining: units,
  retryAfter: time,
  resetAfter: time,
  policy: text,
  policies: { type: 'array', items: ref('PolicyState') },
  source: { enum: ['store', 'deny-cache', 'lease', 'fallback'] },
  at: {
    ...number,
    description:
      'Time of the charge, in milliseconds since 1970. Pass it to refund, settle and release to correct this charge.',
  },
  held: { type: 'boolean', description: 'Whether the take holds a place of a concurrency limit.' },
  shadowed: { const: true, description: 'The take would have been denied, but shadow mode let it pass.' },
};
const OPTIONAL = ['at', 'held', 'shadowed'];
const DECISION = object(DECISION_MEMBERS, OPTIONAL);
const BOOKING = object(
  {
    ...DECISION_MEMBERS,
    delay: {
      ...time,
      description: 'Milliseconds to wait before acting. null means that nothing was booked or charged.',
    },
  },
  OPTIONAL,
);
const MANY_DECISION = object(
  {
    ...DECISION_MEMBERS,
    atomic: {
      type: 'boolean',
      description:
        'Whether all items were decided in one step. If not, the items were charged one after another, and a concurrent call may have been denied because of units that were then given back.',
    },
    decisions: {
      type: 'array',
      items: ref('Decision'),
      description: 'The decision about each item, in the order of the items.',
    },
  },
  OPTIONAL,
);

const PROBLEM = object(
  { type: text, title: text, status: { type: 'integer' }, detail: text },
  ['detail'],
  true,
);

const HEADERS = Object.fromEntries(
  ['RateLimit-Policy', 'RateLimit', 'Retry-After'].map((name) => [name, { schema: text }]),
);

/** The schema of an operation on a limit, which the request either names or contains as policies. */
function operation(members: Readonly<Record<string, object>>, optional: readonly string[]): object {
  return {
    ...object({ limit, policies, key, ...members }, ['limit', 'policies', ...optional]),
    oneOf: [{ required: ['limit'] }, { required: ['policies'] }],
  };
}

const CHARGE = { cost, tier, keep, class: className };
const ITEM = operation(CHARGE, Object.keys(CHARGE));

const VERBS = {
  take: [
    'Charge a key if its limit allows it',
    operation({ ...CHARGE, mode }, ['mode', ...Object.keys(CHARGE)]),
  ],
  peek: ['Return the decision that take would return, without charging anything', ITEM],
  reserve: [
    'Charge a key now for a turn that may be in the future',
    operation({ ...CHARGE, maxDelay }, ['maxDelay', ...Object.keys(CHARGE)]),
  ],
  refund: ['Give units back, up to the full limit', operation({ cost, tier, at }, ['cost', 'tier', 'at'])],
  settle: [
    'Correct a charge to the units that were used',
    operation({ charged, used, tier, at }, ['tier', 'at']),
  ],
  release: ['Free places of a concurrency limit', operation({ cost, tier, at }, ['cost', 'tier', 'at'])],
  block: ['Deny a key for a given duration', object({ limit, key, duration })],
  unblock: ['End the manual block of a key', object({ limit, key })],
  reset: ['Delete the usage and the manual block of a key', object({ limit, key })],
} as const satisfies Readonly<Record<Verb, readonly [summary: string, operation: object]>>;

function object(properties: object, optional: readonly string[] = [], isOpen = false): object {
  const required = Object.keys(properties).filter((name) => !optional.includes(name));
  return { type: 'object', properties, required, ...(!isOpen && { additionalProperties: false }) };
}

function byPolicy(rest: object): object {
  const units = { type: 'number', minimum: 0, maximum: 2 ** 53 };
  return { oneOf: [units, { type: 'object', additionalProperties: units }], ...rest };
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
    { description: 'The request was rejected.', ...content(ref('Problem'), 'application/problem+json') },
  ]),
);

function operationName(verb: Verb): string {
  return `${verb[0].toUpperCase()}${verb.slice(1)}Operation`;
}

const STATUS = {
  name: 'status',
  in: 'query',
  schema: { enum: ['200', '429'] },
  description: 'Status code of the response to a denied take. Default: 200.',
};
const DENIED = 'The take was denied, and the request had the query parameter status=429.';

function verbPath(verb: Verb): object {
  const [summary] = VERBS[verb];
  const one = ref(operationName(verb));
  const decision = ref(verb === 'reserve' ? 'Booking' : 'Decision');
  const answer = {
    description: 'The decision. For a list of operations, a list of decisions in the same order.',
    ...content({
      oneOf: [decision, { type: 'array', items: { oneOf: [decision, ref('Problem')] } }],
    }),
    ...(verb === 'take' && { headers: HEADERS }),
  };
  return {
    post: {
      operationId: verb,
      summary,
      ...(verb === 'take' && { parameters: [STATUS] }),
      requestBody: {
        required: true,
        ...content({ oneOf: [one, { type: 'array', items: one, maxItems: 1000 }] }),
      },
      responses: {
        200: answer,
        ...(verb === 'take' && { 429: { ...answer, description: DENIED } }),
        ...refusals,
      },
    },
  };
}

function takeManyPath(): object {
  const answer = { description: 'The decision.', ...content(ref('ManyDecision')), headers: HEADERS };
  const items = { type: 'array', items: ref(operationName('peek')), minItems: 1, maxItems: 100 };
  return {
    post: {
      operationId: 'takeMany',
      summary: 'Charge several keys: either all of them or none',
      parameters: [STATUS],
      requestBody: { required: true, ...content(object({ items })) },
      responses: { 200: answer, 429: { ...answer, description: DENIED }, ...refusals },
    },
  };
}

function forwardAuthPath(): object {
  const answer = { description: 'The request may pass.', ...content(ref('Decision')), headers: HEADERS };
  const denial = {
    description: 'The take was denied, or the request was rejected.',
    content: {
      'application/json': { schema: ref('Decision') },
      'application/problem+json': { schema: ref('Problem') },
    },
    headers: HEADERS,
  };
  const parameters = Object.entries({
    limit,
    key: { ...key, minLength: 1 },
    cost: { type: 'number', minimum: 0, default: 1 },
    tier,
    class: className,
    status: { enum: ['401', '403', '429'], default: '429', description: 'Status code of a denial.' },
  });
  return {
    get: {
      operationId: 'forwardAuth',
      summary: 'Take, for proxies that send a GET request and look only at the status',
      parameters: parameters.map(([name, schema]) => ({ name, in: 'query', schema })),
      responses: { 200: answer, ...refusals, 401: denial, 403: denial, 429: denial },
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

const getOpenText = (id: string, summary: string): object => get(id, summary, 'text/plain', true);

const ENTRY = object({ key: text, value: text }, ['value']);
const OVERRIDE = object({ requestsPerUnit: { type: 'integer', minimum: 0 }, unit: text });
const DESCRIPTOR = object(
  {
    entries: { type: 'array', items: ENTRY },
    limit: OVERRIDE,
    hitsAddend: { type: 'integer', minimum: 0 },
    isNegativeHits: { type: 'boolean' },
  },
  ['entries', 'limit', 'hitsAddend', 'isNegativeHits'],
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
  info: {
    title: 'Sluice',
    version: VERSION,
    description: 'Checks keys against the named rate limits of this server.',
  },
  security: [{}, { bearer: [] }],
  paths: {
    ...Object.fromEntries(V1_VERBS.map((verb) => [`/v1/${verb}`, verbPath(verb)])),
    '/v1/take-many': takeManyPath(),
    '/v1/forward-auth': forwardAuthPath(),
    '/v1/hits': HITS_PATH,
    '/v1/limits': get('limits', 'The limits of the configuration', 'application/json'),
    '/json': {
      post: {
        operationId: 'shouldRateLimit',
        summary: "Envoy's ShouldRateLimit as JSON",
        requestBody: { required: true, ...content(SHOULD_RATE_LIMIT) },
        responses: {
          200: { description: 'The request may pass.', ...content({ type: 'object' }) },
          429: { description: 'The request is over a limit.', ...content({ type: 'object' }) },
          ...refusals,
        },
      },
    },
    '/rlconfig': get('rlconfig', 'The configuration, one line per limit', 'text/plain'),
    '/healthcheck': getOpenText('healthcheck', 'Whether load balancers should send requests here'),
    '/livez': getOpenText('livez', 'Whether the process runs'),
    '/readyz': getOpenText('readyz', 'Whether to send requests here; with ?store, also checks the store'),
    '/metrics': get('metrics', 'Metrics for Prometheus', 'text/plain'),
    '/live': get('live', 'Live data for the page of the server, as server-sent events', 'text/event-stream'),
    '/openapi.json': get('openapi', 'This document', 'application/json', true),
  },
  components: {
    schemas: {
      Decision: DECISION,
      Booking: BOOKING,
      ManyDecision: MANY_DECISION,
      PolicyState: POLICY_STATE,
      Problem: PROBLEM,
      ...Object.fromEntries(V1_VERBS.map((verb) => [operationName(verb), VERBS[verb][1]])),
    },
    securitySchemes: { bearer: { type: 'http', scheme: 'bearer' } },
  },
});

/** The part of the OpenAPI document that describes POST /v1/hits. */

const PROBLEM = {
  description: 'The request was rejected.',
  content: { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } },
};

export const HITS_PATH: object = {
  post: {
    operationId: 'hits',
    summary: "Decide hits that the library's `remote` store sends",
    description:
      'Available only if the server was started with --remote. The body and the response are a protocol between the library and the server that may change with each version, so use the store `remote` instead of calling this route yourself. The option --shadow does not apply, because the client decides what to do with a denial; set `shadow` in the middleware of the client instead.',
    security: [{}, { bearer: [] }],
    requestBody: {
      required: true,
      content: {
        'application/json': {
          schema: {
            type: 'array',
            items: { type: 'array', items: {} },
            description: 'A list of plans, and a list of hits.',
          },
        },
      },
    },
    responses: {
      200: {
        description: 'The decisions, in the order of the hits.',
        content: { 'application/json': { schema: { type: 'array', items: {} } } },
      },
      ...Object.fromEntries(['400', '401', '403', '404', '413', '503'].map((status) => [status, PROBLEM])),
    },
  },
};

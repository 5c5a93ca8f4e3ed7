-- Decides hits on the keys of one plan. Mirrors engine.ts; the only Lua that calls Redis.
--
-- KEYS: one per hit.
-- ARGV: 1 now in milliseconds, or '' for the server's time; an x before it asks for a reply in hexadecimal,
--         a d then says that the keys are all different
--       2 the plan's mark, three bytes: it stands for the plan's signature
--       then the policies' numbers, in order
--       then one word per hit: its verb's letter and the cost; then, after a blank, for r, b and a the span, for n, and for
--         f and l if it is known, the instant at which the place was taken that is meant; just one word if all are equal
--
-- A row is the mark, then as doubles the instant at which it expires by the server's clock, and its cells. Mostly the value
-- is just that. While a key is blocked, or while several versions of a limiter (plans with different marks) count side by
-- side, the value is a frame of sections: !!, the end of the manual block and the latest expiry as doubles, then for each
-- version its row with the number of bytes that follow, also a double, between the mark and the rest. A version changes only
-- its own section. With variable-length rows there is always a frame, and behind the cells come (head, tail, base, position,
-- capacity) of each such row, then their entries; positions count from the section's beginning.
--
-- Returns the time as a double, then per hit: 1 or 0 for a take that passed whole or did not; or 2 and, as doubles,
-- allowed, taken, what is left of a block and the delay of a booked turn; then the cells, also as doubles. A row that grows
-- stays here, so with one it is, in place of the cells, for each policy what is free, the wait and the time until
-- clear, and then, for each whose refill the caller does not know, the time until one unit more is free. Where places are
-- held, the instant of the newest one comes last.
-- After a failure: an array of that, without the hits that failed, and for each of these its number and the reason.
--
-- Functions and tables are made anew at each call, so there are as few as can be: script.ts writes out the policies'
-- code where «look», «charge», «strike», «give» and «release» stand, and numbers and cells are locals.

local call, pcall, pack, unpack_struct = redis.call, redis.pcall, struct.pack, struct.unpack
local floor, ceil, max, min, sub, INF = math.floor, math.ceil, math.max, math.min, string.sub, math.huge
local TIME_EPSILON, SKEW = 0.0005, 10000

-- Decides hits on the keys of one plan. Mirrors engine.ts; the only Lua that calls Redis.
--
-- KEYS: one per hit.
-- ARGV: 1 now in milliseconds, or '' for the server's time; an x before it asks for a reply in hexadecimal,
--         a d then says that the keys are all different
--       2 the plan's mark, three bytes: a value with another one starts fresh
--       then the policies' numbers, in order
--       then one word per hit: its verb's letter, the cost and, for r and b, a blank and the span; just one if all are equal
--
-- A value is the mark, the cells of the row as doubles and, as another, when it expires by the server's clock. A block by
-- hand stands before them, as !! and its end, so that it holds for plans of other marks, too. With rows that grow it
-- always does, and behind the cells come (head, tail, base, position, capacity) of each such row, then their entries.
--
-- Returns the time as a double, then per hit: 1 or 0 for a take that passed whole or did not; or 2 and, as doubles,
-- allowed, taken, what is left of a block and the delay of a booked turn; then the cells, also as doubles. A row that grows
-- stays here, so with one it is, in place of the cells, for each policy what is free, the wait and the time until clear.
-- After a failure: an array of that, without the hits that failed, and for each of these its number and the reason.
--
-- Functions and tables are made anew at each call, so there are as few as can be: script.ts writes out the policies'
-- code where «look», «charge», «strike», «give» and «release» stand, and numbers and cells are locals.

local call, pcall, pack, unpack_struct = redis.call, redis.pcall, struct.pack, struct.unpack
local floor, ceil, max, min, sub, INF = math.floor, math.ceil, math.max, math.min, string.sub, math.huge
local FORGIVEN = 0.0005

-- Helpers that every algorithm may use. Mirrors the constants and isFarAhead of engine/contract.ts.
local floor, ceil, max, min, INF = math.floor, math.ceil, math.max, math.min, math.huge
local TIME_EPSILON, SKEW = 0.0005, 10000

local function is_far_ahead(written, now, window)
  return written - now > SKEW and written - now > window
end

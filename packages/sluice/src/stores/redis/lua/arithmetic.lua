-- Helpers that every file may use. script.ts replaces the names of the constants with their values. Mirrors the constants and
-- isFarAhead of engine/contract.ts.
local floor = math.floor
local ceil = math.ceil
local max = math.max
local min = math.min
local INF = math.huge
local TIME_EPSILON = 0.0005
local SKEW = 10000

local function is_far_ahead(written, now, window)
  return written - now > SKEW and written - now > window
end

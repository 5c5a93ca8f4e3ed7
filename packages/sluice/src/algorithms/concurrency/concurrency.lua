-- Mirrors concurrency.ts, which is a sliding log of leases.
-- @include sliding-log
-- @params limit per step entries
-- @variable-length head tail base

local function taken_at(c)
  if c.tail > c.head then return time_at(c, c.tail - 1) end
  return 0
end

return {
  available = sliding_log.available,
  wait_for = sliding_log.wait_for,
  take = sliding_log.take,
  give = sliding_log.give,
  clear_in = sliding_log.clear_in,
  taken_at = taken_at,
}

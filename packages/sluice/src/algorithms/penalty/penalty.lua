-- Mirrors penalty.ts. The cell `until` of penalty.ts is named blocked_until here, because `until` is a keyword in Lua.
-- @params after within block factor max
-- @cells strikes since blocked_until length

local function is_wrong(p, c, now)
  local written = c.since
  if c.since == c.blocked_until then written = c.since - c.length end
  local is_ahead = is_far_ahead(written, now, p.within)
  return is_ahead
end

local function block_left(p, c, now)
  local wait = c.blocked_until - now
  local wrong = is_wrong(p, c, now)
  if wait > TIME_EPSILON and not wrong then return wait end
  return 0
end

local function is_quiet(p, c, now)
  local wrong = is_wrong(p, c, now)
  return c.since + p.within <= now + TIME_EPSILON or wrong
end

local function available(p, c, now)
  local wait = block_left(p, c, now)
  if wait > 0 then return 0 end
  return INF
end

local function wait_for(p, c, now, cost)
  local wait = block_left(p, c, now)
  return wait
end

local function take(p, c, now, cost)
  local wait = block_left(p, c, now)
  if wait > 0 then return end
  local quiet = is_quiet(p, c, now)
  if quiet then c.strikes, c.since, c.blocked_until, c.length = 0, 0, 0, 0 end
  if c.strikes == 0 then c.since = max(now, c.since) end
  c.strikes = c.strikes + 1
  if c.strikes < p.after then return end
  local length = p.block
  if c.length ~= 0 then length = c.length * p.factor end
  c.length = min(length, p.max)
  c.blocked_until = now + c.length
  c.since = c.blocked_until
  c.strikes = 0
end

local function give(p, c, now, cost)
end

local function clear_in(p, c, now)
  local quiet = is_quiet(p, c, now)
  if c.since == 0 or quiet then return 0 end
  return c.since + p.within - now
end

return {
  available = available,
  wait_for = wait_for,
  take = take,
  give = give,
  clear_in = clear_in,
}

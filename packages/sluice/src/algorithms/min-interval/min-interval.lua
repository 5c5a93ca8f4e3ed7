-- Mirrors min-interval.ts.
-- @params every
-- @cells next

local function left(p, c, now)
  local wait = c.next - now
  if wait <= TIME_EPSILON then return 0 end
  local is_ahead = is_far_ahead(c.next - p.every, now, p.every)
  if is_ahead then return 0 end
  return wait
end

local function available(p, c, now)
  local wait = left(p, c, now)
  if wait > 0 then return 0 end
  return INF
end

local function wait_for(p, c, now, cost)
  local wait = left(p, c, now)
  return wait
end

local function take(p, c, now, cost)
  local wait = left(p, c, now)
  if wait > 0 then c.next = max(c.next, now + p.every) else c.next = now + p.every end
end

local function give(p, c, now, cost, taken_at)
  if taken_at and c.next - taken_at - p.every > TIME_EPSILON then return end
  c.next = min(c.next, now)
end

local function clear_in(p, c, now)
  local wait = left(p, c, now)
  return wait
end

return {
  available = available,
  wait_for = wait_for,
  take = take,
  give = give,
  clear_in = clear_in,
}

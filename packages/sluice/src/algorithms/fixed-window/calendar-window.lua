-- Mirrors fixed-window.ts for calendar windows. Redis has no calendar, so the caller sends the starts of six consecutive calendar
-- units (days, for example), which surround the current time on the caller's clock.
-- @params limit edge1 edge2 edge3 edge4 edge5 edge6
-- @cells start count

-- The script calls this function before it writes anything. If the caller's clock is far off, the calendar units that the caller
-- sent do not include the server's time. The error contains the server's time, and the caller repeats the call with the calendar
-- units around that time.
local function check_clock(p, now)
  if now < p.edge1 or now >= p.edge6 then error('CLOCK ' .. now) end
end

local function end_of(p, instant)
  if p.edge1 > instant then return p.edge1 end
  if p.edge2 > instant then return p.edge2 end
  if p.edge3 > instant then return p.edge3 end
  if p.edge4 > instant then return p.edge4 end
  if p.edge5 > instant then return p.edge5 end
  if p.edge6 > instant then return p.edge6 end
  return INF
end

local function start_of(p, instant)
  if p.edge6 <= instant then return p.edge6 end
  if p.edge5 <= instant then return p.edge5 end
  if p.edge4 <= instant then return p.edge4 end
  if p.edge3 <= instant then return p.edge3 end
  if p.edge2 <= instant then return p.edge2 end
  return p.edge1
end

local function count_at(p, c, now)
  local ends = end_of(p, c.start)
  if c.count == 0 or ends <= now + TIME_EPSILON then return 0 end
  local next = end_of(p, now + TIME_EPSILON)
  if c.start > next then return 0 end
  return c.count
end

local function available(p, c, now)
  local count = count_at(p, c, now)
  return p.limit - count
end

local function wait_for(p, c, now, cost)
  if cost > p.limit then return INF end
  local count = count_at(p, c, now)
  if count + cost <= p.limit then return 0 end
  local ends = end_of(p, c.start)
  return ends - now
end

local function take(p, c, now, cost)
  local count = count_at(p, c, now)
  local start = start_of(p, now + TIME_EPSILON)
  if count == 0 then c.start = start end
  c.count = count + cost
end

local function give(p, c, now, cost, taken_at)
  local count = count_at(p, c, now)
  local is_earlier = taken_at and taken_at + TIME_EPSILON < c.start
  if is_earlier then c.count = count else c.count = max(0, count - cost) end
end

local function clear_in(p, c, now)
  local count = count_at(p, c, now)
  local ends = end_of(p, c.start)
  if count == 0 then return 0 end
  return ends - now
end

return {
  check_clock = check_clock,
  available = available,
  wait_for = wait_for,
  take = take,
  give = give,
  clear_in = clear_in,
}

-- Mirrors fixed-window.ts for windows of a fixed length.
-- @params limit per first
-- @cells start count

local function count_at(p, c, now)
  if c.count == 0 or c.start + p.per <= now + TIME_EPSILON then return 0 end
  local is_ahead = is_far_ahead(c.start, now, p.per)
  if is_ahead and p.first <= p.per then return 0 end
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
  return c.start + p.per - now
end

local function take(p, c, now, cost)
  local count = count_at(p, c, now)
  if count == 0 and p.first > 0 then
    c.start = now + (p.first - p.per)
  elseif count == 0 then
    c.start = floor((now + TIME_EPSILON) / p.per) * p.per
  end
  c.count = count + cost
end

local function give(p, c, now, cost, taken_at)
  local count = count_at(p, c, now)
  local is_earlier = taken_at and p.first <= p.per and taken_at + TIME_EPSILON < c.start
  if is_earlier then c.count = count else c.count = max(0, count - cost) end
end

local function clear_in(p, c, now)
  local count = count_at(p, c, now)
  if count == 0 then return 0 end
  return c.start + p.per - now
end

return {
  available = available,
  wait_for = wait_for,
  take = take,
  give = give,
  clear_in = clear_in,
}

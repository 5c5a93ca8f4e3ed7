-- Mirrors sliding-window.ts.
-- @params limit per
-- @cells start count previous

local function window_start(p, c, now)
  local start = floor((now + TIME_EPSILON) / p.per) * p.per
  if c.start <= start then return start end
  local is_ahead = is_far_ahead(c.start, now, p.per)
  if is_ahead then return start end
  return c.start
end

local function count_in(p, c, start)
  if c.start <= start and start - c.start < p.per * 0.5 then return c.count end
  return 0
end

local function previous_in(p, c, start)
  if c.start > start then return 0 end
  if start - c.start < p.per * 0.5 then return c.previous end
  if start - c.start < p.per * 1.5 then return c.count end
  return 0
end

local function estimate(p, now, start, count, older)
  return older * (1 - max(0, now + TIME_EPSILON - start) / p.per) + count
end

local function available(p, c, now)
  local start = window_start(p, c, now)
  local count = count_in(p, c, start)
  local older = previous_in(p, c, start)
  return p.limit - estimate(p, now, start, count, older)
end

local function wait_for(p, c, now, cost)
  if cost > p.limit then return INF end
  local start = window_start(p, c, now)
  local count = count_in(p, c, start)
  local older = previous_in(p, c, start)
  local used = estimate(p, now, start, count, older)
  if used + cost <= p.limit then return 0 end
  local room = p.limit - cost
  if count <= room then return start + p.per * (1 - (room - count) / older) - now end
  return start + p.per + p.per * (1 - room / count) - now
end

local function take(p, c, now, cost)
  local start = window_start(p, c, now)
  local count = count_in(p, c, start)
  local older = previous_in(p, c, start)
  c.start, c.count, c.previous = start, count + cost, older
end

local function give(p, c, now, cost, taken_at)
  take(p, c, now, 0)
  local age, from_older = 0, 0
  if taken_at then
    age = c.start - floor((taken_at + TIME_EPSILON) / p.per) * p.per
  else
    from_older = max(0, cost - c.count)
  end
  if age >= p.per * 0.5 then
    if age < p.per * 1.5 then c.previous = max(0, c.previous - cost) end
    return
  end
  c.count = max(0, c.count - cost)
  c.previous = max(0, c.previous - from_older)
end

local function clear_in(p, c, now)
  local start = window_start(p, c, now)
  local count = count_in(p, c, start)
  local older = previous_in(p, c, start)
  if count > 0 then return start + 2 * p.per - now end
  if older > 0 then return start + p.per - now end
  return 0
end

return {
  available = available,
  wait_for = wait_for,
  take = take,
  give = give,
  clear_in = clear_in,
}

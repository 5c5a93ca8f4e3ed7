-- Mirrors gcra.ts.
-- @params interval burst credit rate
-- @cells debt since

local function debt_at(p, c, now)
  local left = c.debt - (now - c.since)
  if left <= 0 then return 0 end
  local is_ahead = is_far_ahead(c.since, now, p.credit)
  if is_ahead then return 0 end
  return left
end

local function available(p, c, now)
  local debt = debt_at(p, c, now)
  return min(p.burst, (p.credit - debt + TIME_EPSILON) * p.rate)
end

local function wait_for(p, c, now, cost)
  if cost > p.burst then return INF end
  local debt = debt_at(p, c, now)
  local wait = debt + cost * p.interval - p.credit
  if wait > TIME_EPSILON then return wait end
  return 0
end

local function take(p, c, now, cost)
  local debt = debt_at(p, c, now)
  c.debt = debt + cost * p.interval
  c.since = now
end

local function overdraft(p, c, now, cost, span)
  local debt = debt_at(p, c, now)
  return min(cost, max(0, (p.credit + span - p.interval - debt) * p.rate))
end

local function give(p, c, now, cost)
  local debt = debt_at(p, c, now)
  c.debt = max(0, debt - cost * p.interval)
  c.since = now
end

local function clear_in(p, c, now)
  local debt = debt_at(p, c, now)
  return debt
end

return {
  available = available,
  wait_for = wait_for,
  take = take,
  overdraft = overdraft,
  give = give,
  clear_in = clear_in,
}

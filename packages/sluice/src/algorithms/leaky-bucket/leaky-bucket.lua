-- Mirrors leaky-bucket.ts.
-- @params size dripSize dripRate
-- @cells level since

local function drips_by(p, c, now)
  if c.since > now then
    local is_ahead = is_far_ahead(c.since, now, ceil(p.size / p.dripSize) * p.dripRate)
    if is_ahead then return INF end
  end
  return max(0, floor((now + TIME_EPSILON - c.since) / p.dripRate))
end

local function level_after(p, c, drips)
  return max(0, c.level - drips * p.dripSize)
end

local function drips_until(p, c, estimate, cost)
  local level = level_after(p, c, estimate)
  if level + cost - p.size > 0 then return estimate + 1 end
  local before = level_after(p, c, estimate - 1)
  if before + cost - p.size > 0 then return estimate end
  return estimate - 1
end

local function available(p, c, now)
  local passed = drips_by(p, c, now)
  return p.size - level_after(p, c, passed)
end

local function wait_for(p, c, now, cost)
  if cost > p.size then return INF end
  local passed = drips_by(p, c, now)
  local level = level_after(p, c, passed)
  local over = level + cost - p.size
  if over <= 0 then return 0 end
  local drips = drips_until(p, c, passed + ceil(over / p.dripSize), cost)
  return c.since + drips * p.dripRate - now
end

local function take(p, c, now, cost)
  local passed = drips_by(p, c, now)
  local level = level_after(p, c, passed)
  if passed == INF then
    c.since = now
  elseif level == 0 then
    c.since = max(now, c.since)
  else
    c.since = c.since + passed * p.dripRate
  end
  c.level = level + cost
end

local function overdraft(p, c, now, cost, span)
  local passed = drips_by(p, c, now)
  local back = floor((span + TIME_EPSILON) / p.dripRate) * p.dripSize
  return min(cost, max(0, p.size - 1 + back - level_after(p, c, passed)))
end

local function give(p, c, now, cost)
  take(p, c, now, 0)
  c.level = max(0, c.level - cost)
end

local function clear_in(p, c, now)
  local passed = drips_by(p, c, now)
  local level = level_after(p, c, passed)
  if level == 0 then return 0 end
  local drips = passed + ceil(level / p.dripSize)
  if c.level - drips * p.dripSize > 0 then drips = drips + 1 end
  return c.since + drips * p.dripRate - now
end

return {
  available = available,
  wait_for = wait_for,
  take = take,
  overdraft = overdraft,
  give = give,
  clear_in = clear_in,
}

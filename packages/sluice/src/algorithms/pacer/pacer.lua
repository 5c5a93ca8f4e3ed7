-- Mirrors pacer.ts. freshEmpty is 1 or 0.
-- @params interval stored threshold slope refill warm freshEmpty scale window
-- @cells spent next since

local function next_of(p, c, now)
  local is_ahead = is_far_ahead(c.since, now, p.window)
  if is_ahead then return 0 end
  return c.next
end

local function ticks(p, instant)
  if p.scale == 1 then return instant end
  return floor(instant * p.scale + 0.5)
end

local function whole(p, price)
  if p.scale == 1 then return price end
  return floor(max(0, price + 1e-6))
end

local function spent(p, c, now)
  local next = next_of(p, c, now)
  if p.freshEmpty == 1 and next == 0 then return p.stored end
  local is_ahead = is_far_ahead(c.since, now, p.window)
  if is_ahead then return 0 end
  local time = ticks(p, now)
  local due = ticks(p, c.next)
  return max(0, min(c.spent, p.stored) - max(0, time - due) / p.refill)
end

local function available(p, c, now)
  local next = next_of(p, c, now)
  if next - now <= TIME_EPSILON then return INF end
  return 0
end

local function wait_for(p, c, now, cost)
  local next = next_of(p, c, now)
  if next - now <= TIME_EPSILON then return 0 end
  return next - now
end

local function overdraft(p, c, now, cost, span)
  local next = next_of(p, c, now)
  local dearest = max(p.interval, p.interval + (p.stored - p.threshold) * p.slope)
  return min(cost, max(0, ((now + span - next) * p.scale) / dearest))
end

local function take(p, c, now, cost)
  local missing = spent(p, c, now)
  local stored = p.stored - missing
  local from_store = min(cost, stored)
  -- Cold permits are spent first, and each of them costs less than the one before, so the delay that they cause is the area under a
  -- falling line.
  local cold = max(0, stored - p.threshold)
  local from_cold = min(cold, from_store)
  local edges = p.interval + cold * p.slope + (p.interval + (cold - from_cold) * p.slope)
  local cold_price = whole(p, (from_cold * edges) / 2)
  local warm_price = whole(p, (from_store - from_cold) * p.warm)
  local fresh_price = whole(p, (cost - from_store) * p.interval)
  local next = next_of(p, c, now)
  local start = ticks(p, max(next, now))
  c.next = (start + (cold_price + warm_price + fresh_price)) / p.scale
  c.spent = missing + from_store
  c.since = now
end

local function give(p, c, now, cost)
  local due = next_of(p, c, now)
  if p.freshEmpty == 1 and due == 0 then return end
  local missing = spent(p, c, now)
  local next = ticks(p, max(due, now))
  local time = ticks(p, now)
  local back = min(cost, (next - time) / p.interval)
  local price = whole(p, back * p.interval)
  c.spent = max(0, missing - (cost - back))
  c.next = (next - price) / p.scale
  c.since = now
end

local function clear_in(p, c, now)
  local next = next_of(p, c, now)
  if p.freshEmpty == 1 and p.stored > 0 and next == 0 then return 0 end
  if p.freshEmpty == 1 and p.stored > 0 then return INF end
  local missing = spent(p, c, now)
  return max(0, next - now) + (missing * p.refill) / p.scale
end

return {
  available = available,
  wait_for = wait_for,
  overdraft = overdraft,
  take = take,
  give = give,
  clear_in = clear_in,
}

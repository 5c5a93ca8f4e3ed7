-- Mirrors sliding-log.ts. The entries stay in the stored value, where time_at, sum_at and put_at read and write them.
-- @params limit per step entries
-- @variable-length head tail base

local LARGEST_BASE, NEAR = 4294967296, 1e-9

local function last_sum(c)
  if c.tail > c.head then return sum_at(c, c.tail - 1) end
  return c.base
end

local function first_live(p, c, now)
  local head, tail = c.head, c.tail
  if head ~= tail and is_far_ahead(time_at(c, tail - 1) - p.step, now, p.per) then return tail end
  local expired = now + TIME_EPSILON - p.per
  if head == tail or time_at(c, head) > expired then return head end
  local low, high = head + 1, tail
  while low < high do
    local middle = floor((low + high) / 2)
    if time_at(c, middle) > expired then high = middle else low = middle + 1 end
  end
  return low
end

local function base_of(c, first)
  if first > c.head then return sum_at(c, first - 1) end
  return c.base
end

local function forget_empty(c)
  if c.head == c.tail then c.head, c.tail, c.base = 0, 0, 0 end
end

local function drop_expired(p, c, now)
  local first = first_live(p, c, now)
  c.base = base_of(c, first)
  c.head = first
  forget_empty(c)
  if c.base > LARGEST_BASE then
    for i = c.head, c.tail - 1 do put_at(c, i, time_at(c, i), sum_at(c, i) - c.base) end
    c.base = 0
  end
end

local function available(p, c, now)
  local first = first_live(p, c, now)
  return p.limit - (last_sum(c) - base_of(c, first))
end

local function wait_for(p, c, now, cost)
  if cost > p.limit then return INF end
  local first = first_live(p, c, now)
  local last = last_sum(c)
  if last - base_of(c, first) + cost <= p.limit then return 0 end
  local low, high = first, c.tail - 1
  -- Each probe is a Redis command. If all costs are 1, the index can be computed, so try that first.
  local guess = max(low, min(high, low + ceil(last + cost - p.limit - sum_at(c, low))))
  if last - sum_at(c, guess) + cost <= p.limit then
    high = guess
    if high > low and last - sum_at(c, high - 1) + cost > p.limit then low = high end
  else
    low = min(high, guess + 1)
  end
  while low < high do
    local middle = floor((low + high) / 2)
    if last - sum_at(c, middle) + cost <= p.limit then high = middle else low = middle + 1 end
  end
  return time_at(c, low) + p.per - now
end

local function stamp_of(p, now)
  if p.step == 0 then return now end
  return (floor((now + TIME_EPSILON) / p.step) + 1) * p.step
end

local function take(p, c, now, cost)
  drop_expired(p, c, now)
  local before = last_sum(c)
  local tail = c.tail
  local stamp = stamp_of(p, now)
  if tail > c.head and time_at(c, tail - 1) >= stamp then
    put_at(c, tail - 1, time_at(c, tail - 1), before + cost)
    return
  end
  if tail - c.head >= p.entries then c.head = c.head + 1 end
  -- put_at may move the entries to make room, which changes c.head and c.tail.
  put_at(c, c.tail, stamp, before + cost)
  c.tail = c.tail + 1
end

-- Gives units back: from the charge's own entry if the time of the charge is known, and otherwise from the oldest entries.
local function give(p, c, now, cost, taken_at)
  local function give_from(stamp)
    local head, tail = c.head, c.tail
    local low, high = head, tail
    while low < high do
      local middle = floor((low + high) / 2)
      if time_at(c, middle) >= stamp then high = middle else low = middle + 1 end
    end
    if low == tail or time_at(c, low) ~= stamp then return end
    local given, gap = sum_at(c, low) - base_of(c, low), 1
    if given - cost > NEAR then given, gap = cost, 0 end
    if low - head < tail - low then
      c.base = min(c.base + given, last_sum(c))
      for i = low - 1, head, -1 do put_at(c, i + gap, time_at(c, i), sum_at(c, i) + given) end
      c.head = head + gap
    else
      for i = low + gap, tail - 1 do put_at(c, i - gap, time_at(c, i), sum_at(c, i) - given) end
      c.tail = tail - gap
    end
  end

  drop_expired(p, c, now)
  if taken_at == nil then
    c.base = min(c.base + cost, last_sum(c))
  else
    give_from(stamp_of(p, taken_at))
  end
  while c.head < c.tail and sum_at(c, c.head) <= c.base do c.head = c.head + 1 end
  forget_empty(c)
end

local function clear_in(p, c, now)
  if first_live(p, c, now) == c.tail then return 0 end
  return time_at(c, c.tail - 1) + p.per - now
end

return {
  available = available,
  wait_for = wait_for,
  take = take,
  give = give,
  clear_in = clear_in,
}

-- Mirrors sliding-log.ts. Numbers: limit, per, step, entries. The row $ is one of its own: head, tail, base and entries,
-- which stay in the value: time_at, sum_at and put_at read and write one of them in place.
--- grows
--- functions
local function log_first_live(g, per, step, now)
  local head, tail = g.head, g.tail
  if head ~= tail and time_at(g, tail - 1) - step - now > max(per, SKEW) then return tail end
  local expired = now + TIME_EPSILON - per
  if head == tail or time_at(g, head) > expired then return head end
  local low, high = head + 1, tail
  while low < high do
    local middle = floor((low + high) / 2)
    if time_at(g, middle) > expired then high = middle else low = middle + 1 end
  end
  return low
end

local function log_base(g, first)
  if first > g.head then return sum_at(g, first - 1) end
  return g.base
end

local function log_last_sum(g)
  if g.tail > g.head then return sum_at(g, g.tail - 1) end
  return g.base
end

local function log_drop_expired(g, per, step, now)
  local first = log_first_live(g, per, step, now)
  g.base = log_base(g, first)
  g.head = first
  if g.head == g.tail then g.head, g.tail, g.base = 0, 0, 0 end
  if g.base > 4294967296 then
    for i = g.head, g.tail - 1 do put_at(g, i, time_at(g, i), sum_at(g, i) - g.base) end
    g.base = 0
  end
end
--- look
local first = log_first_live($, @2, @3, now)
local last = log_last_sum($)
local used = last - log_base($, first)
wait, clear = 0, 0
if cost > @1 then
  wait = INF
elseif used + cost > @1 then
  local low, high = first, $.tail - 1
  -- With costs of one the place is known: try there first, since each probe is a call.
  local guess = max(low, min(high, low + ceil(last + cost - @1 - sum_at($, low))))
  if last - sum_at($, guess) + cost <= @1 then
    high = guess
    if high > low and last - sum_at($, high - 1) + cost > @1 then low = high end
  else
    low = min(high, guess + 1)
  end
  while low < high do
    local middle = floor((low + high) / 2)
    if last - sum_at($, middle) + cost <= @1 then high = middle else low = middle + 1 end
  end
  wait = time_at($, low) + @2 - now
end
if first ~= $.tail then clear = time_at($, $.tail - 1) + @2 - now end
free = @1 - used
--- take
log_drop_expired($, @2, @3, now)
local before = log_last_sum($)
local stamp = now
if @3 ~= 0 then stamp = (floor((now + TIME_EPSILON) / @3) + 1) * @3 end
if $.tail > $.head and time_at($, $.tail - 1) >= stamp then
  put_at($, $.tail - 1, time_at($, $.tail - 1), before + cost)
else
  if $.tail - $.head >= @4 then $.head = $.head + 1 end
  put_at($, $.tail, stamp, before + cost)
  $.tail = $.tail + 1
end
--- give
log_drop_expired($, @2, @3, now)
$.base = min($.base + cost, log_last_sum($))
while $.head < $.tail and sum_at($, $.head) <= $.base do $.head = $.head + 1 end
if $.head == $.tail then $.head, $.tail, $.base = 0, 0, 0 end

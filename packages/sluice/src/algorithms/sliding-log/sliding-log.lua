-- Mirrors sliding-log.ts. p: limit, per, step, entries. The row is one of its own: head, tail, base, then entries, which
-- stay in the value: time_at, sum_at and put_at read and write one of them in place.

local function log_first_live(p, g, now)
  local head, tail = g.head, g.tail
  local expired = now + FORGIVEN - p[2]
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

local function log_forget_empty(g)
  if g.head == g.tail then g.head, g.tail, g.base = 0, 0, 0 end
end

local function log_drop_expired(p, g, now)
  local first = log_first_live(p, g, now)
  g.base = log_base(g, first)
  g.head = first
  log_forget_empty(g)
end

A['sliding-log'] = {
  grows = true,
  look = function(p, g, _, now, cost)
    local first = log_first_live(p, g, now)
    local last = log_last_sum(g)
    local used = last - log_base(g, first)
    local wait, clear = 0, 0
    if cost > p[1] then
      wait = INF
    elseif used + cost > p[1] then
      local enough = last + cost - p[1]
      local low, high = first, g.tail - 1
      while low < high do
        local middle = floor((low + high) / 2)
        if sum_at(g, middle) >= enough then high = middle else low = middle + 1 end
      end
      wait = time_at(g, low) + p[2] - now
    end
    if first ~= g.tail then clear = time_at(g, g.tail - 1) + p[2] - now end
    return p[1] - used, wait, clear
  end,
  take = function(p, g, _, now, cost)
    log_drop_expired(p, g, now)
    local before = log_last_sum(g)
    local stamp = now
    if p[3] ~= 0 then stamp = (floor((now + FORGIVEN) / p[3]) + 1) * p[3] end
    if g.tail > g.head and time_at(g, g.tail - 1) >= stamp then
      put_at(g, g.tail - 1, time_at(g, g.tail - 1), before + cost)
      return
    end
    if g.tail - g.head >= p[4] then g.head = g.head + 1 end
    put_at(g, g.tail, stamp, before + cost)
    g.tail = g.tail + 1
  end,
  give = function(p, g, _, now, cost)
    log_drop_expired(p, g, now)
    g.base = min(g.base + cost, log_last_sum(g))
    while g.head < g.tail and sum_at(g, g.head) <= g.base do g.head = g.head + 1 end
    log_forget_empty(g)
  end,
}

-- Mirrors fixed-window.ts on a calendar. p: limit, then the starts of six units around now, in order, which the caller
-- knows and a server does not. Cells: start, count.

-- The first edge after an instant: the end of the unit that holds it.
local function calendar_end(p, instant)
  for i = 2, #p do
    if p[i] > instant then return p[i] end
  end
  return INF
end

local function calendar_count(p, r, a, now)
  if r[a + 1] ~= 0 and calendar_end(p, r[a]) > now + FORGIVEN then return r[a + 1] end
  return 0
end

A['calendar-window'] = {
  look = function(p, r, a, now, cost)
    local count = calendar_count(p, r, a, now)
    local wait, clear = 0, 0
    if cost > p[1] then
      wait = INF
    elseif count + cost > p[1] then
      wait = calendar_end(p, r[a]) - now
    end
    if count ~= 0 then clear = calendar_end(p, r[a]) - now end
    return p[1] - count, wait, clear
  end,
  take = function(p, r, a, now, cost)
    local count = calendar_count(p, r, a, now)
    if count == 0 then
      local start = p[2]
      for i = 3, #p do
        if p[i] <= now + FORGIVEN then start = p[i] end
      end
      r[a] = start
    end
    r[a + 1] = count + cost
  end,
  give = function(p, r, a, now, cost)
    r[a + 1] = max(0, calendar_count(p, r, a, now) - cost)
  end,
}

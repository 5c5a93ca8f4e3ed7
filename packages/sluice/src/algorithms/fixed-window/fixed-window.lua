-- Mirrors fixed-window.ts. p: limit, per, first. Cells: start, count.

local function fixed_count(p, r, a, now)
  if r[a + 1] ~= 0 and r[a] + p[2] > now + FORGIVEN then return r[a + 1] end
  return 0
end

A['fixed-window'] = {
  look = function(p, r, a, now, cost)
    local count = fixed_count(p, r, a, now)
    local wait, clear = 0, 0
    if cost > p[1] then
      wait = INF
    elseif count + cost > p[1] then
      wait = r[a] + p[2] - now
    end
    if count ~= 0 then clear = r[a] + p[2] - now end
    return p[1] - count, wait, clear
  end,
  take = function(p, r, a, now, cost)
    local count = fixed_count(p, r, a, now)
    if count == 0 then
      if p[3] == 1 then r[a] = now else r[a] = floor((now + FORGIVEN) / p[2]) * p[2] end
    end
    r[a + 1] = count + cost
  end,
  give = function(p, r, a, now, cost)
    r[a + 1] = max(0, fixed_count(p, r, a, now) - cost)
  end,
}

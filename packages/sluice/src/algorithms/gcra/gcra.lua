-- Mirrors gcra.ts. p: interval, burst, rate, slack. Cells: level, since.

local function gcra_level(p, r, a, now)
  if now <= r[a + 1] then return r[a] end
  local left = r[a] - (now - r[a + 1]) * p[3]
  if left > 0 then return left end
  return 0
end

A['gcra'] = {
  bookable = true,
  look = function(p, r, a, now, cost)
    local level, since = r[a], r[a + 1]
    local behind = 0
    if now > since then
      level = level - (now - since) * p[3]
      if not (level > 0) then level = 0 end
    else
      behind = since - now
    end
    local wait, clear = 0, 0
    if cost > p[2] then
      wait = INF
    else
      local over = level + cost - p[2]
      if over > p[4] then wait = over * p[1] + behind end
    end
    if level ~= 0 then clear = level * p[1] + behind end
    return p[2] - level + p[4], wait, clear
  end,
  take = function(p, r, a, now, cost)
    r[a] = gcra_level(p, r, a, now) + cost
    if now > r[a + 1] then r[a + 1] = now end
  end,
  give = function(p, r, a, now, cost)
    r[a] = max(0, gcra_level(p, r, a, now) - cost)
    if now > r[a + 1] then r[a + 1] = now end
  end,
}

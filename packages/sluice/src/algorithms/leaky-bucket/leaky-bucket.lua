-- Mirrors leaky-bucket.ts. p: size, dripSize, dripRate. Cells: level, since.

local function leaky_drain(p, r, a, now)
  local passed = max(0, floor((now + FORGIVEN - r[a + 1]) / p[3]))
  local level = max(0, r[a] - passed * p[2])
  return level, passed
end

local function leaky_settle(p, r, a, now)
  local level, passed = leaky_drain(p, r, a, now)
  r[a] = level
  if level == 0 then r[a + 1] = max(now, r[a + 1]) else r[a + 1] = r[a + 1] + passed * p[3] end
end

A['leaky-bucket'] = {
  bookable = true,
  look = function(p, r, a, now, cost)
    local level, passed = leaky_drain(p, r, a, now)
    local wait, clear = 0, 0
    if cost > p[1] then
      wait = INF
    else
      local over = level + cost - p[1]
      if over > 0 then wait = r[a + 1] + (passed + ceil(over / p[2])) * p[3] - now end
    end
    if level ~= 0 then clear = r[a + 1] + (passed + ceil(level / p[2])) * p[3] - now end
    return p[1] - level, wait, clear
  end,
  take = function(p, r, a, now, cost)
    leaky_settle(p, r, a, now)
    r[a] = r[a] + cost
  end,
  give = function(p, r, a, now, cost)
    leaky_settle(p, r, a, now)
    r[a] = max(0, r[a] - cost)
  end,
}

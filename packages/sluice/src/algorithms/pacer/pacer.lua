-- Mirrors pacer.ts. p: interval, stored, threshold, slope, refill, warm, freshEmpty. Cells: spent, next.

local function pacer_spent(p, r, a, now)
  if p[7] == 1 and r[a + 1] == 0 then return p[2] end
  return max(0, r[a] - max(0, now - r[a + 1]) / p[5])
end

A['pacer'] = {
  bookable = true,
  look = function(p, r, a, now, cost)
    local due = r[a + 1] - now
    local free, wait, clear = INF, 0, 0
    if due > FORGIVEN then free, wait = 0, due end
    if p[7] == 1 and p[2] > 0 then
      if r[a + 1] ~= 0 then clear = INF end
    else
      clear = max(0, due) + pacer_spent(p, r, a, now) * p[5]
    end
    return free, wait, clear
  end,
  take = function(p, r, a, now, cost)
    local missing = pacer_spent(p, r, a, now)
    local stored = p[2] - missing
    local from_store = min(cost, stored)
    local cold = max(0, stored - p[3])
    local from_cold = min(cold, from_store)
    local edges = 2 * p[1] + (cold + cold - from_cold) * p[4]
    local price = (from_cold * edges) / 2 + (from_store - from_cold) * p[6]
    r[a] = missing + from_store
    r[a + 1] = max(r[a + 1], now) + price + (cost - from_store) * p[1]
  end,
  give = function(p, r, a, now, cost)
    local missing = pacer_spent(p, r, a, now)
    local due = max(0, r[a + 1] - now)
    local back = min(cost, due / p[1])
    r[a] = max(0, missing - (cost - back))
    r[a + 1] = max(r[a + 1], now) - back * p[1]
  end,
}

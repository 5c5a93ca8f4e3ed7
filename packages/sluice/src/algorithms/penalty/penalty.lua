-- Mirrors penalty.ts. p: after, within, block, factor, max. Cells: strikes, since, until, length.

A['penalty'] = {
  counts_denials = true,
  look = function(p, r, a, now, cost)
    local wait = r[a + 2] - now
    local free, clear = INF, 0
    if wait <= FORGIVEN then wait = 0 else free = 0 end
    if r[a + 1] ~= 0 and r[a + 1] + p[2] > now + FORGIVEN then clear = r[a + 1] + p[2] - now end
    return free, wait, clear
  end,
  take = function(p, r, a, now)
    if r[a + 2] - now > FORGIVEN then return end
    if r[a + 1] + p[2] <= now + FORGIVEN then r[a], r[a + 1], r[a + 2], r[a + 3] = 0, 0, 0, 0 end
    if r[a] == 0 then r[a + 1] = max(now, r[a + 1]) end
    r[a] = r[a] + 1
    if r[a] < p[1] then return end
    local length = p[3]
    if r[a + 3] ~= 0 then length = r[a + 3] * p[4] end
    r[a + 3] = min(length, p[5])
    r[a + 2] = now + r[a + 3]
    r[a + 1] = r[a + 2]
    r[a] = 0
  end,
  give = function() end,
}

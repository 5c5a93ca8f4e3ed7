-- Mirrors gcra.ts. p: interval, burst, credit, rate. Cells: debt, since.

A['gcra'] = {
  bookable = true,
  look = function(p, r, a, now, cost)
    local debt = r[a] - (now - r[a + 1])
    if not (debt > 0) then debt = 0 end
    local wait = INF
    if not (cost > p[2]) then
      wait = debt + cost * p[1] - p[3]
      if not (wait > FORGIVEN) then wait = 0 end
    end
    return (p[3] - debt + FORGIVEN) * p[4], wait, debt
  end,
  take = function(p, r, a, now, cost)
    local debt = r[a] - (now - r[a + 1])
    if not (debt > 0) then debt = 0 end
    r[a] = debt + cost * p[1]
    r[a + 1] = now
  end,
  give = function(p, r, a, now, cost)
    local debt = r[a] - (now - r[a + 1])
    if not (debt > 0) then debt = 0 end
    r[a] = max(0, debt - cost * p[1])
    r[a + 1] = now
  end,
}

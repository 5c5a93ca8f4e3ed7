-- Mirrors min-interval.ts. p: every. Cells: next.

A['min-interval'] = {
  look = function(p, r, a, now)
    local wait = r[a] - now
    if wait > FORGIVEN then return 0, wait, wait end
    return INF, 0, 0
  end,
  take = function(p, r, a, now) r[a] = max(r[a], now + p[1]) end,
  give = function(p, r, a, now) r[a] = min(r[a], now) end,
}

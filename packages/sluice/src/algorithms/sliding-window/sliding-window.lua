-- Mirrors sliding-window.ts. p: limit, per. Cells: start, count, previous.

local function sliding_counts(p, r, a, now)
  local start = max(r[a], floor((now + FORGIVEN) / p[2]) * p[2])
  local behind = start - r[a]
  if behind < p[2] * 0.5 then return start, r[a + 1], r[a + 2] end
  if behind < p[2] * 1.5 then return start, 0, r[a + 1] end
  return start, 0, 0
end

A['sliding-window'] = {
  look = function(p, r, a, now, cost)
    local start, count, older = sliding_counts(p, r, a, now)
    local elapsed = max(0, now + FORGIVEN - start)
    local estimate = older * (1 - elapsed / p[2]) + count
    local wait, clear = 0, 0
    if cost > p[1] then
      wait = INF
    elseif estimate + cost > p[1] then
      local room = p[1] - cost
      if count <= room then
        wait = start + p[2] * (1 - (room - count) / older) - now
      else
        wait = start + p[2] + p[2] * (1 - room / count) - now
      end
    end
    if count > 0 then
      clear = start + 2 * p[2] - now
    elseif older > 0 then
      clear = start + p[2] - now
    end
    return p[1] - estimate, wait, clear
  end,
  take = function(p, r, a, now, cost)
    local start, count, older = sliding_counts(p, r, a, now)
    r[a], r[a + 1], r[a + 2] = start, count + cost, older
  end,
  give = function(p, r, a, now, cost)
    local start, count, older = sliding_counts(p, r, a, now)
    local from_older = max(0, cost - count)
    r[a], r[a + 1], r[a + 2] = start, max(0, count - cost), max(0, older - from_older)
  end,
}

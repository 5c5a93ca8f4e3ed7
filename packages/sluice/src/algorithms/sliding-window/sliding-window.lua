-- Mirrors sliding-window.ts. Numbers: limit, per. Cells: start, count, previous.
--- look
local start = floor((now + TIME_EPSILON) / @2) * @2
if $1 > start and not ($1 - now > max(@2, SKEW)) then start = $1 end
local count, older = 0, 0
if $1 <= start then
  if start - $1 < @2 * 0.5 then
    count, older = $2, $3
  elseif start - $1 < @2 * 1.5 then
    older = $2
  end
end
local elapsed = max(0, now + TIME_EPSILON - start)
local estimate = older * (1 - elapsed / @2) + count
wait, clear = 0, 0
if cost > @1 then
  wait = INF
elseif estimate + cost > @1 then
  local room = @1 - cost
  if count <= room then
    wait = start + @2 * (1 - (room - count) / older) - now
  else
    wait = start + @2 + @2 * (1 - room / count) - now
  end
end
if count > 0 then
  clear = start + 2 * @2 - now
elseif older > 0 then
  clear = start + @2 - now
end
free = @1 - estimate
--- take
local start = floor((now + TIME_EPSILON) / @2) * @2
if $1 > start and not ($1 - now > max(@2, SKEW)) then start = $1 end
local count, older = 0, 0
if $1 <= start then
  if start - $1 < @2 * 0.5 then
    count, older = $2, $3
  elseif start - $1 < @2 * 1.5 then
    older = $2
  end
end
$1, $2, $3 = start, count + cost, older
--- give
local start = floor((now + TIME_EPSILON) / @2) * @2
if $1 > start and not ($1 - now > max(@2, SKEW)) then start = $1 end
local count, older = 0, 0
if $1 <= start then
  if start - $1 < @2 * 0.5 then
    count, older = $2, $3
  elseif start - $1 < @2 * 1.5 then
    older = $2
  end
end
$1, $2, $3 = start, max(0, count - cost), max(0, older - max(0, cost - count))

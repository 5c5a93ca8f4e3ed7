-- Mirrors fixed-window.ts on a calendar. Numbers: limit, then the starts of six units around now, in order, which the
-- caller knows and a server does not. Cells: start, count.
--- look
-- A caller whose clock is far off knows other units: it is told the time, and asks again. Nothing was written yet.
if now < @2 or now >= @7 then error('CLOCK ' .. now) end
local ends, next = INF, INF
for i = 6, 1, -1 do
  local edge = select(i, @2, @3, @4, @5, @6, @7)
  if edge > $1 then ends = edge end
  if edge > now + TIME_EPSILON then next = edge end
end
local count = 0
if $2 ~= 0 and ends > now + TIME_EPSILON and $1 <= next then count = $2 end
wait, clear = 0, 0
if cost > @1 then
  wait = INF
elseif count + cost > @1 then
  wait = ends - now
end
if count ~= 0 then clear = ends - now end
free = @1 - count
--- take
local ends, start, next = INF, @2, INF
for i = 6, 1, -1 do
  local edge = select(i, @2, @3, @4, @5, @6, @7)
  if edge > $1 then ends = edge end
  if edge <= now + TIME_EPSILON then start = max(start, edge) else next = edge end
end
if $2 == 0 or ends <= now + TIME_EPSILON or $1 > next then $1, $2 = start, 0 end
$2 = $2 + cost
--- give
local ends, next = INF, INF
for i = 6, 1, -1 do
  local edge = select(i, @2, @3, @4, @5, @6, @7)
  if edge > $1 then ends = edge end
  if edge > now + TIME_EPSILON then next = edge end
end
if ends <= now + TIME_EPSILON or $1 > next then $2 = 0 end
$2 = max(0, $2 - cost)

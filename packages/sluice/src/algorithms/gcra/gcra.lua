-- Mirrors gcra.ts. Numbers: interval, burst, credit, rate. Cells: debt, since.
--- bookable
--- look
local debt = $1 - (now - $2)
if not (debt > 0) then debt = 0 end
wait = INF
if not (cost > @2) then
  wait = debt + cost * @1 - @3
  if not (wait > FORGIVEN) then wait = 0 end
end
free, clear = (@3 - debt + FORGIVEN) * @4, debt
--- take
local debt = $1 - (now - $2)
if not (debt > 0) then debt = 0 end
$1, $2 = debt + cost * @1, now
--- clear
clear = max(0, $1 - (now - $2))
--- give
local debt = $1 - (now - $2)
if not (debt > 0) then debt = 0 end
$1, $2 = max(0, debt - cost * @1), now

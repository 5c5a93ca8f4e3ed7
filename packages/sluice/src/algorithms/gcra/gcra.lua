-- Mirrors gcra.ts. Numbers: interval, burst, credit, rate. Cells: debt, since.
--- bookable
--- look
local debt = $1 - (now - $2)
if not (debt > 0) or $2 - now > max(@3, SKEW) then debt = 0 end
wait = INF
if not (cost > @2) then
  wait = debt + cost * @1 - @3
  if not (wait > TIME_EPSILON) then wait = 0 end
end
free, clear = min(@2, (@3 - debt + TIME_EPSILON) * @4), debt
--- overdraft
local debt = $1 - (now - $2)
if not (debt > 0) or $2 - now > max(@3, SKEW) then debt = 0 end
cost = min(cost, max(0, (@3 + span - @1 - debt) * @4))
--- take
local debt = $1 - (now - $2)
if not (debt > 0) or $2 - now > max(@3, SKEW) then debt = 0 end
$1, $2 = debt + cost * @1, now
--- clear
clear = $1 - (now - $2)
if not (clear > 0) or $2 - now > max(@3, SKEW) then clear = 0 end
--- give
local debt = $1 - (now - $2)
if not (debt > 0) or $2 - now > max(@3, SKEW) then debt = 0 end
$1, $2 = max(0, debt - cost * @1), now

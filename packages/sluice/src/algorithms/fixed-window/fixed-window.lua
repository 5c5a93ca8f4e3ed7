-- Mirrors fixed-window.ts. Numbers: limit, per, first. Cells: start, count.
--- look
local count = 0
if $2 ~= 0 and $1 + @2 > now + TIME_EPSILON and not (@3 <= @2 and $1 - now > max(@2, SKEW)) then count = $2 end
wait, clear = 0, 0
if cost > @1 then
  wait = INF
elseif count + cost > @1 then
  wait = $1 + @2 - now
end
if count ~= 0 then clear = $1 + @2 - now end
free = @1 - count
--- take
if $2 == 0 or $1 + @2 <= now + TIME_EPSILON or (@3 <= @2 and $1 - now > max(@2, SKEW)) then
  $2 = 0
  if @3 > 0 then $1 = now + (@3 - @2) else $1 = floor((now + TIME_EPSILON) / @2) * @2 end
end
$2 = $2 + cost
--- give
if $1 + @2 <= now + TIME_EPSILON or (@3 <= @2 and $1 - now > max(@2, SKEW)) then $2 = 0 end
$2 = max(0, $2 - cost)

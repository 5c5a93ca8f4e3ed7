-- Mirrors penalty.ts. Numbers: after, within, block, factor, max. Cells: strikes, since, until, length.
--- counts_denials
--- look
local written = $2
if $2 == $3 then written = $2 - $4 end
local wrong = written - now > max(@2, SKEW)
wait = $3 - now
free, clear = INF, 0
if wait <= TIME_EPSILON or wrong then wait = 0 else free = 0 end
if $2 ~= 0 and $2 + @2 > now + TIME_EPSILON and not wrong then clear = $2 + @2 - now end
--- take
local written = $2
if $2 == $3 then written = $2 - $4 end
local wrong = written - now > max(@2, SKEW)
if $3 - now <= TIME_EPSILON or wrong then
  if $2 + @2 <= now + TIME_EPSILON or wrong then $1, $2, $3, $4 = 0, 0, 0, 0 end
  if $1 == 0 then $2 = max(now, $2) end
  $1 = $1 + 1
  if $1 >= @1 then
    local length = @3
    if $4 ~= 0 then length = $4 * @4 end
    $4 = min(length, @5)
    $3 = now + $4
    $1, $2 = 0, $3
  end
end
--- give

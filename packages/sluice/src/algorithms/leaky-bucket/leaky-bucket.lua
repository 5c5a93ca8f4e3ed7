-- Mirrors leaky-bucket.ts. Numbers: size, dripSize, dripRate. Cells: level, since.
--- bookable
--- look
local passed = max(0, floor((now + TIME_EPSILON - $2) / @3))
if $2 > now and $2 - now > max(ceil(@1 / @2) * @3, SKEW) then passed = INF end
local level = max(0, $1 - passed * @2)
wait, clear = 0, 0
if cost > @1 then
  wait = INF
else
  local over = level + cost - @1
  if over > 0 then
    local drips = passed + ceil(over / @2)
    if max(0, $1 - drips * @2) + cost - @1 > 0 then
      drips = drips + 1
    elseif not (max(0, $1 - (drips - 1) * @2) + cost - @1 > 0) then
      drips = drips - 1
    end
    wait = $2 + drips * @3 - now
  end
end
if level ~= 0 then
  local drips = passed + ceil(level / @2)
  if $1 - drips * @2 > 0 then drips = drips + 1 end
  clear = $2 + drips * @3 - now
end
free = @1 - level
--- overdraft
local passed = max(0, floor((now + TIME_EPSILON - $2) / @3))
if $2 > now and $2 - now > max(ceil(@1 / @2) * @3, SKEW) then passed = INF end
local back = floor((span + TIME_EPSILON) / @3) * @2
cost = min(cost, max(0, @1 - 1 + back - max(0, $1 - passed * @2)))
--- take
local passed = max(0, floor((now + TIME_EPSILON - $2) / @3))
if $2 > now and $2 - now > max(ceil(@1 / @2) * @3, SKEW) then passed, $2 = INF, now end
local level = max(0, $1 - passed * @2)
if level == 0 then $2 = max(now, $2) else $2 = $2 + passed * @3 end
$1 = level + cost
--- give
local passed = max(0, floor((now + TIME_EPSILON - $2) / @3))
if $2 > now and $2 - now > max(ceil(@1 / @2) * @3, SKEW) then passed, $2 = INF, now end
local level = max(0, $1 - passed * @2)
if level == 0 then $2 = max(now, $2) else $2 = $2 + passed * @3 end
$1 = max(0, level - cost)

-- Mirrors pacer.ts. Numbers: interval, stored, threshold, slope, refill, warm, freshEmpty. Cells: spent, next.
--- bookable
--- look
local due = $2 - now
free, wait, clear = INF, 0, 0
if due > FORGIVEN then free, wait = 0, due end
if @7 == 1 and @2 > 0 then
  if $2 ~= 0 then clear = INF end
else
  local missing = @2
  if not (@7 == 1 and $2 == 0) then missing = max(0, $1 - max(0, now - $2) / @5) end
  clear = max(0, due) + missing * @5
end
--- take
local missing = @2
if not (@7 == 1 and $2 == 0) then missing = max(0, $1 - max(0, now - $2) / @5) end
local stored = @2 - missing
local from_store = min(cost, stored)
local cold = max(0, stored - @3)
local from_cold = min(cold, from_store)
local edges = 2 * @1 + (cold + cold - from_cold) * @4
local price = (from_cold * edges) / 2 + (from_store - from_cold) * @6
$1 = missing + from_store
$2 = max($2, now) + price + (cost - from_store) * @1
--- give
local missing = @2
if not (@7 == 1 and $2 == 0) then missing = max(0, $1 - max(0, now - $2) / @5) end
local back = min(cost, max(0, $2 - now) / @1)
$1 = max(0, missing - (cost - back))
$2 = max($2, now) - back * @1
